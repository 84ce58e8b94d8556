"""The metrics page and a listener must not have one port."""

from __future__ import annotations

import pytest

from signalbox.common.config.properties_file import Properties
from signalbox.configuration.check.metrics_port import same_address
from signalbox.configuration.configuration import read_node_config
from tests.configuration.settings import VALUES

LISTENERS = "CLIENT://{host}:9092,REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0"


def faults_of(listener_host: str, host: str, port: str) -> list[tuple[str, str, str]]:
    given = {
        **VALUES,
        "listeners": LISTENERS.format(host=listener_host),
        "advertised.listeners": LISTENERS.format(host="127.0.0.1"),
        "signalbox.metrics.http.host": host,
        "signalbox.metrics.http.port": port,
    }
    _, faults = read_node_config(Properties("test", given))
    return [(fault.key, fault.entry, fault.problem) for fault in faults]


@pytest.mark.parametrize(
    ("listener_host", "host"),
    [("127.0.0.1", "127.0.0.1"), ("", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "0.0.0.0")],
)
def test_one_port_on_one_address_is_rejected(listener_host: str, host: str) -> None:
    [(key, entry, problem)] = faults_of(listener_host, host, "9092")
    assert (key, entry) == ("signalbox.metrics.http.port", "9092")
    assert problem == f"the listener CLIENT has port 9092 on {listener_host or 'every address'}"


@pytest.mark.parametrize(
    ("listener_host", "host", "port"),
    [
        ("127.0.0.1", "127.0.0.1", "9093"),
        ("127.0.0.1", "127.0.0.2", "9092"),
        ("127.0.0.1", "127.0.0.1", "0"),  # any free port, as the listeners REPLICATION and CONTROL have
        ("127.0.0.1", "127.0.0.1", "-1"),
    ],
)
def test_what_can_be_bound_together(listener_host: str, host: str, port: str) -> None:
    assert faults_of(listener_host, host, port) == []


def test_hosts_are_compared_in_any_case() -> None:
    assert same_address("Localhost", "localhost")
    assert not same_address("localhost", "127.0.0.1")
