from __future__ import annotations

from signalbox.common.config.config_table import format_value
from signalbox.network.config_rows import NETWORK_CONFIG, PREFIXED_KEYS


def test_kafkas_defaults() -> None:
    expected = {
        "listeners": "PLAINTEXT://:9092",
        "socket.request.max.bytes": "104857600",
        "socket.listen.backlog.size": "50",
        "max.connections.per.ip": "2147483647",
        "max.connections": "2147483647",
        "max.connection.creation.rate": "2147483647",
        "connections.max.idle.ms": "600000",
        "connection.failed.authentication.delay.ms": "100",
        "control.plane.force.controller.requests.enable": "false",
        "sasl.enabled.mechanisms": "GSSAPI",
        "ssl.client.auth": "none",
    }
    assert {key: format_value(NETWORK_CONFIG[key].default) for key in expected} == expected


def test_every_row_is_documented_and_every_prefixed_key_is_a_row() -> None:
    assert all(row.doc.endswith(".") for row in NETWORK_CONFIG)
    assert all(key in NETWORK_CONFIG for key in PREFIXED_KEYS)


def test_defaults_pass_their_own_validators() -> None:
    for row in NETWORK_CONFIG:
        text = format_value(row.default)
        if text is not None:
            assert row.parse(text) == row.default, row.name
