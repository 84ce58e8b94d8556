"""Connections by client software (KIP-511, F16): named, renamed, closed, and never more rows than the limit."""

from __future__ import annotations

import pytest

from signalbox.broker.metrics.client_software import ClientSoftware
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.common.limits import MAX_CLIENT_SOFTWARE_COUNTED, MAX_CLIENT_SOFTWARE_LENGTH
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import context

pytestmark = pytest.mark.spec("F16")


def rows(registry: MetricRegistry) -> dict[tuple[str, str, str], float]:
    found = {}
    for sample in registry.samples():
        assert (sample.name.type, sample.name.name) == ("socket-server-metrics", "connections")
        tags = dict(sample.tags)
        found[tags["listener"], tags["clientSoftwareName"], tags["clientSoftwareVersion"]] = sample.value
    return found


def peer(number: int, name: str = "", version: str = "") -> RequestContext:
    made = context()
    made.connection_id = f"c-{number}"
    made.client_software_name, made.client_software_version = name, version
    return made


def test_a_connection_is_unknown_until_api_versions_and_removed_when_it_is_closed() -> None:
    registry = MetricRegistry()
    software = ClientSoftware(registry)
    first, second = peer(1), peer(2)
    software.opened(first)
    software.opened(second)
    listener = first.listener_name
    assert rows(registry) == {(listener, "unknown", "unknown"): 2}
    first.client_software_name, first.client_software_version = "librdkafka", "2.6.1"
    software.named(first)
    assert rows(registry) == {(listener, "unknown", "unknown"): 1, (listener, "librdkafka", "2.6.1"): 1}
    software.closed(second)
    software.closed(first)
    assert rows(registry) == {}


def test_a_name_given_before_the_login_counts_from_the_login_on() -> None:
    registry = MetricRegistry()
    software = ClientSoftware(registry)
    client = peer(1, "apache-kafka-java", "4.4.0")
    software.named(client)
    assert rows(registry) == {}
    software.opened(client)
    assert rows(registry) == {(client.listener_name, "apache-kafka-java", "4.4.0"): 1}


def test_invented_and_endless_names_share_a_row() -> None:
    registry = MetricRegistry()
    software = ClientSoftware(registry)
    peers = [peer(number, f"name-{number}", "1") for number in range(MAX_CLIENT_SOFTWARE_COUNTED + 5)]
    peers.append(peer(9_999, "x" * (MAX_CLIENT_SOFTWARE_LENGTH + 1), "1"))
    for each in peers:
        software.opened(each)
    found = rows(registry)
    assert len(found) == MAX_CLIENT_SOFTWARE_COUNTED + 1
    assert found[peers[0].listener_name, "other", "other"] == 6
    for each in peers:
        software.closed(each)
    assert rows(registry) == {}


def test_a_row_that_comes_back_is_read_again() -> None:
    registry = MetricRegistry()
    software = ClientSoftware(registry)
    for _ in range(2):
        client = peer(1, "a", "1")
        software.opened(client)
        assert rows(registry) == {(client.listener_name, "a", "1"): 1}
        software.closed(client)
