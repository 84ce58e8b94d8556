from __future__ import annotations

from signalbox.common.clock import ManualClock
from signalbox.network.limits_reading import read_expiry_limits, read_quotas
from tests.network.serving import configured

GIVEN = {
    "listeners": "CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT",
    "inter.broker.listener.name": "REPLICATION",
    "max.connections": "3",
    "max.connections.per.ip": "2",
    "max.connections.per.ip.overrides": "10.0.0.1:1",
    "listener.name.client.max.connections": "1",
}


def test_which_key_limits_what() -> None:
    table, settings = configured(GIVEN)
    counted = read_quotas(table, settings, ManualClock())
    assert counted.admit("CLIENT", "10.0.0.1")
    assert counted.wait_seconds("CLIENT") > 0
    assert not counted.admit("REPLICATION", "10.0.0.1")
    for address in "aabbc":
        counted.admit("REPLICATION", address)
    assert counted.wait_seconds("REPLICATION") == 0
    assert counted.excess == 3


def test_the_only_listener_is_not_protected() -> None:
    table, settings = configured({"listeners": "PLAINTEXT://127.0.0.1:0", "max.connections": "1"})
    counted = read_quotas(table, settings, ManualClock())
    counted.admit("PLAINTEXT", "a")
    assert counted.wait_seconds("PLAINTEXT") > 0


def test_expiry() -> None:
    _, settings = configured({"listeners": "PLAINTEXT://127.0.0.1:0", "connections.max.idle.ms": "1500"})
    limits = read_expiry_limits(settings.everywhere)
    assert (limits.idle, limits.stall, limits.setup) == (1.5, 30, 10)
    _, settings = configured({"listeners": "PLAINTEXT://127.0.0.1:0", "connections.max.idle.ms": "-1"})
    assert read_expiry_limits(settings.everywhere).idle is None
