from __future__ import annotations

import pytest

from signalbox.network.listeners.listener import Listener, served_on
from signalbox.network.plane import Plane
from signalbox.network.ports import NetworkPorts
from signalbox.network.quotas.rejections import Rejections
from signalbox.protocol.api_table import ApiKey
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


def test_frame_limits_and_fast_path() -> None:
    given = FORCED | {"listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROL:SASL_PLAINTEXT"}
    table, settings = configured(given)
    ports = NetworkPorts(request_sink=EchoSink(), served_versions=EVERY_API, fast_path=RecordingFastPath())
    rejections = Rejections(ports.audit, ports.metrics, ports.clock)
    listeners = {
        row.name: Listener(
            row, Plane(row.plane, Source()), settings.listener(row.name), ports, ports.request_sink, rejections
        )
        for row in table
    }
    client, control = listeners["CLIENT"], listeners["CONTROL"]
    assert client.fast_path is ports.fast_path
    assert control.fast_path is None
    assert client.setup_frame_bytes == client.max_frame_bytes == 104_857_600
    assert control.setup_frame_bytes == 524_288


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
