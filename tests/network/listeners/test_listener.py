from __future__ import annotations

import pytest

from signalbox.network.listeners.listener import Listener, served_on
from signalbox.network.plane import Plane
from signalbox.network.ports import NetworkPorts
from signalbox.network.quotas.rejections import Rejections
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import RequestHeader
from tests.network.serving import EVERY_API, EchoSink, configured
from tests.network.test_connection import FORCED, FOUR, RecordingFastPath
from tests.network.test_plane import Source


def test_a_forced_control_plane_serves_the_four_and_the_set_up() -> None:
    table, _ = configured(FORCED)
    everything = EVERY_API
    assert set(served_on(table.row("CONTROL"), everything)) == {*FOUR, ApiKey.API_VERSIONS}
    client = served_on(table.row("CLIENT"), everything)
    assert set(everything) - set(client) == {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
    assert client[ApiKey.PRODUCE] == (3, 13)


def listeners_of(given: dict[str, str], ports: NetworkPorts) -> dict[str, Listener]:
    table, settings = configured(given)
    rejections = Rejections(ports.audit, ports.metrics, ports.clock)
    return {
        row.name: Listener(
            row, Plane(row.plane, Source()), settings.listener(row.name), ports, ports.request_sink, rejections
        )
        for row in table
    }


def test_frame_limits_and_fast_path() -> None:
    given = FORCED | {"listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROL:SASL_PLAINTEXT"}
    ports = NetworkPorts(request_sink=EchoSink(), served_versions=EVERY_API, fast_path=RecordingFastPath())
    listeners = listeners_of(given, ports)
    client, control = listeners["CLIENT"], listeners["CONTROL"]
    assert client.fast_path is ports.fast_path
    assert control.fast_path is None
    assert client.setup_frame_bytes == client.max_frame_bytes == 104_857_600
    assert control.setup_frame_bytes == 524_288


@pytest.mark.parametrize(
    ("listener", "api_key", "version", "kind", "text"),
    [
        ("CLIENT", 1000, 0, "unknown_api", "sent the unknown API 1000"),
        ("CONTROL", ApiKey.METADATA, 9, "control_plane_forced", "sent Metadata: the control plane accepts only"),
        ("CLIENT", ApiKey.ENVELOPE, 0, "api_not_on_listener", "sent Envelope, which this listener does not serve"),
        ("CLIENT", ApiKey.METADATA, 99, "unsupported_version", "sent Metadata version 99, supported are 0 to "),
    ],
)
def test_the_reason_why_a_request_is_not_served(
    listener: str, api_key: int, version: int, kind: str, text: str
) -> None:
    served = {key: span for key, span in EVERY_API.items() if key != ApiKey.ENVELOPE}
    ports = NetworkPorts(request_sink=EchoSink(), served_versions=served)
    header = RequestHeader(api_key, version, 7, None)
    found, reason = listeners_of(FORCED, ports)[listener].reason_not_served(header, "10.0.0.9")
    assert found == kind
    assert reason.startswith(f"client (no id) at 10.0.0.9 {text}")


@pytest.mark.spec("F15")
def test_a_controllers_listener_serves_brokers_alone() -> None:
    given = {
        "process.roles": "broker,controller",
        "controller.listener.names": "CTRL",
        "listeners": "PLAINTEXT://127.0.0.1:0,CTRL://127.0.0.1:0",
    }
    table, _ = configured(given)
    row = table.row("CTRL")
    admitted = {ApiKey.ENVELOPE, ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS, ApiKey.CONTROLLED_SHUTDOWN}
    assert set(served_on(row, EVERY_API)) == {*admitted, ApiKey.API_VERSIONS}
    assert ApiKey.METADATA in served_on(table.row("PLAINTEXT"), EVERY_API)
