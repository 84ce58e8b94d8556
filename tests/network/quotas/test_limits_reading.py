from __future__ import annotations

import pytest

from signalbox.common.clock import ManualClock
from signalbox.network.quotas.limits_reading import read_expiry_limits, read_quotas
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


@pytest.mark.spec("L5")
def test_which_key_limits_what() -> None:
    table, settings = configured(GIVEN)
    counted = read_quotas(table, settings, ManualClock())
    assert counted.admit("CLIENT", "10.0.0.1")
    assert counted.wait_seconds("CLIENT") > 0
    assert not counted.admit("CLIENT", "10.0.0.1")
    for address in "aaa":
        assert counted.admit("REPLICATION", address), "an address's limit is not for the listener of the brokers"
    assert counted.wait_seconds("REPLICATION") > 0, "the broker's key is also the limit of each listener"
    counted.release("REPLICATION", "a")
    assert counted.wait_seconds("REPLICATION") == 0
    assert (counted.total, counted.excess) == (3, 0)
    counted.admit("REPLICATION", "b")
    assert counted.excess == 1


@pytest.mark.spec("L5")
def test_an_inter_broker_listener_that_clients_need_too_has_the_limit_of_an_address() -> None:
    alone = GIVEN | {
        "listeners": "CLIENT://127.0.0.1:0,CONTROL://127.0.0.1:0",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROL:PLAINTEXT",
        "inter.broker.listener.name": "CLIENT",
        "control.plane.listener.name": "CONTROL",
    }
    counted = read_quotas(*configured(alone), ManualClock())
    assert counted.admit("CLIENT", "10.0.0.1")
    assert not counted.admit("CLIENT", "10.0.0.1")
    assert counted.admit("CONTROL", "10.0.0.1")


FOR_ONE_LISTENER = ("max.connections", "max.connection.creation.rate", "connections.max.reauth.ms")
FOR_ALL = (
    "max.connections.per.ip",
    "connections.max.idle.ms",
    "socket.send.buffer.bytes",
    "socket.receive.buffer.bytes",
    "socket.request.max.bytes",
    "socket.listen.backlog.size",
    "connection.failed.authentication.delay.ms",
    "sasl.server.max.receive.size",
)


@pytest.mark.spec("L5")
@pytest.mark.parametrize(
    ("key", "on_client"), [*((key, 21) for key in FOR_ONE_LISTENER), *((key, 20_000) for key in FOR_ALL)]
)
def test_limits_of_one_listener(key: str, on_client: int) -> None:
    """Kafka reads `FOR_ALL` from the broker's own configuration: these keys have no effect with a listener's prefix."""
    _, settings = configured(GIVEN | {key: "20000", f"listener.name.client.{key}": "21"})
    assert settings.listener("CLIENT").number(key) == on_client
    assert settings.listener("REPLICATION").number(key) == 20_000


@pytest.mark.spec("L5")
def test_the_listeners_of_brokers_are_protected() -> None:
    names = ("CLIENT", "REPLICATION", "CONTROL")
    given = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in names),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        "inter.broker.listener.name": "REPLICATION",
        "control.plane.listener.name": "CONTROL",
        "max.connections": "2",
    }
    table, settings = configured(given)
    counted = read_quotas(table, settings, ManualClock())
    for address in "ab":
        counted.admit("CLIENT", address)
    assert {name: counted.wait_seconds(name) > 0 for name in names} == {
        "CLIENT": True,
        "REPLICATION": False,
        "CONTROL": False,
    }


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
