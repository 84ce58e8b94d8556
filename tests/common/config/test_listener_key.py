"""A key with a listener prefix is split into listener, mechanism and key."""

from __future__ import annotations

import pytest

from signalbox.common.config.listener_key import read_listener_key
from signalbox.network.config_rows import NETWORK_CONFIG


@pytest.mark.spec("L5")
@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("listener.name.client.max.connections", ("client", "", "max.connections")),
        ("listener.name.client.ssl.keystore.location", ("client", "", "ssl.keystore.location")),
        ("listener.name.client.plain.sasl.jaas.config", ("client", "plain", "sasl.jaas.config")),
        ("listener.name.in_side.scram-sha-256.sasl.jaas.config", ("in_side", "scram-sha-256", "sasl.jaas.config")),
        ("listener.name.client.listeners", None),
        ("listener.name.client.no.such", None),
        ("listener.name.client", None),
        ("listener.name..max.connections", None),
        ("max.connections", None),
    ],
)
def test_reading(key: str, found: tuple[str, str, str] | None) -> None:
    read = read_listener_key(key, NETWORK_CONFIG)
    assert (read and (read.listener, read.mechanism, read.row.name)) == found
