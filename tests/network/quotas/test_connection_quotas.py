from __future__ import annotations

from dataclasses import dataclass

import pytest

from signalbox.common.clock import ManualClock
from signalbox.network.quotas.connection_quotas import BrokerLimits, ConnectionQuotas, CreationRate, ListenerLimits


def quotas(broker: BrokerLimits, clock: ManualClock | None = None, **listeners: ListenerLimits) -> ConnectionQuotas:
    """Quotas in a process whose descriptors are never scarce."""
    return ConnectionQuotas(broker, listeners, clock or ManualClock(), lambda for_brokers: False)


def test_a_listeners_own_limit() -> None:
    counted = quotas(BrokerLimits(), CLIENT=ListenerLimits(max_connections=2), OTHER=ListenerLimits())
    assert counted.admit("CLIENT", "a")
    assert counted.wait_seconds("CLIENT") == 0
    assert counted.admit("CLIENT", "a")
    assert counted.wait_seconds("CLIENT") > 0
    assert counted.wait_seconds("OTHER") == 0
    counted.release("CLIENT", "a")
    assert counted.wait_seconds("CLIENT") == 0
    assert counted.count_of("CLIENT") == 1


def test_the_brokers_limit_spares_the_protected_listener() -> None:
    counted = quotas(
        BrokerLimits(max_connections=1), CLIENT=ListenerLimits(), REPLICATION=ListenerLimits(protected=True)
    )
    assert counted.admit("CLIENT", "a")
    assert counted.wait_seconds("CLIENT") > 0
    assert counted.wait_seconds("REPLICATION") == 0
    assert counted.excess == 0
    assert counted.admit("REPLICATION", "b")
    assert counted.excess == 1


def test_limits_by_address() -> None:
    counted = quotas(BrokerLimits(max_per_ip=1, per_ip_overrides={"b": 2, "c": 0}), CLIENT=ListenerLimits())
    assert [counted.admit("CLIENT", address) for address in "aabbbc"] == [True, False, True, True, False, False]
    assert counted.total == 3
    counted.release("CLIENT", "a")
    assert counted.admit("CLIENT", "a")


def test_addresses_with_more_open_connections_than_other_limits_would_allow() -> None:
    counted = quotas(
        BrokerLimits(), CLIENT=ListenerLimits(), OTHER=ListenerLimits(), PEERS=ListenerLimits(any_per_ip=True)
    )
    for listener, address in (("CLIENT", "a"), ("OTHER", "a"), ("CLIENT", "b"), ("PEERS", "c"), ("PEERS", "c")):
        assert counted.admit(listener, address)
    assert counted.over(BrokerLimits(max_per_ip=2)) == []
    assert counted.over(BrokerLimits(max_per_ip=1)) == [("a", 2, 1)]
    assert counted.over(BrokerLimits(max_per_ip=1, per_ip_overrides={"a": 2, "b": 0})) == [("b", 1, 0)]
    counted.release("OTHER", "a")
    assert counted.over(BrokerLimits(max_per_ip=1)) == []


def test_a_listener_that_becomes_brokers_own_while_connections_are_open() -> None:
    counted = quotas(BrokerLimits(max_per_ip=1), CLIENT=ListenerLimits(), PEERS=ListenerLimits())
    assert counted.admit("PEERS", "a")
    assert not counted.admit("CLIENT", "a")
    counted.change(BrokerLimits(max_per_ip=1), {"PEERS": ListenerLimits(any_per_ip=True)})
    assert counted.admit("CLIENT", "a")
    counted.release("PEERS", "a")
    assert not counted.admit("CLIENT", "a")


def test_creation_rate_of_the_broker_and_of_a_listener() -> None:
    clock = ManualClock()
    counted = quotas(
        BrokerLimits(max_creation_rate=10),
        clock,
        CLIENT=ListenerLimits(creation_rate=CreationRate(2)),
        REPLICATION=ListenerLimits(protected=True),
    )
    admitted = 0
    for _ in range(5):
        if counted.wait_seconds("CLIENT") == 0:
            counted.admit("CLIENT", "a")
            admitted += 1
    assert admitted == 2
    assert 0 < counted.wait_seconds("CLIENT") <= 0.5
    clock.advance(500)
    assert counted.wait_seconds("CLIENT") == 0
    assert counted.wait_seconds("REPLICATION") == 0


def test_rates() -> None:
    assert CreationRate(2**31 - 1).wait_seconds(0) == 0
    assert CreationRate(0).wait_seconds(5) == 1.0
    rate = CreationRate(100)
    for _ in range(100):
        assert rate.wait_seconds(7.0) == 0
        rate.count()
    assert 0 < rate.wait_seconds(7.0) <= 0.011
    assert rate.wait_seconds(1000.0) == 0


def test_changed_limits_keep_open_connections() -> None:
    clock = ManualClock()
    counted = quotas(BrokerLimits(max_creation_rate=1), clock, CLIENT=ListenerLimits(creation_rate=CreationRate(5)))
    assert counted.wait_seconds("CLIENT") == 0
    assert counted.admit("CLIENT", "a")
    assert counted.wait_seconds("CLIENT") > 0
    counted.change(BrokerLimits(), {"CLIENT": ListenerLimits(creation_rate=CreationRate(5))})
    # The broker's rate limit is removed; the listener's keeps its count.
    for _ in range(4):
        assert counted.wait_seconds("CLIENT") == 0
        assert counted.admit("CLIENT", "a")
    assert counted.wait_seconds("CLIENT") > 0
    counted.change(BrokerLimits(max_connections=2, max_per_ip=1), {"CLIENT": ListenerLimits(max_connections=4)})
    assert (counted.total, counted.excess) == (5, 3)
    assert counted.wait_seconds("CLIENT") > 0
    assert not counted.admit("CLIENT", "a")
    assert counted.admit("CLIENT", "b")


@dataclass(frozen=True)
class Case:
    """New connections, `listener address result` each; the result is in (accepted), closed (by the limit per address)
    or waits (in the kernel)."""

    broker: BrokerLimits
    listeners: dict[str, ListenerLimits]
    connections: str


def rate(per_second: int) -> CreationRate:
    return CreationRate(per_second)


KAFKAS_RULES = {
    "at the limit of a listener new connections wait, whatever their address": Case(
        BrokerLimits(),
        {"CLIENT": ListenerLimits(max_connections=1), "OTHER": ListenerLimits()},
        "CLIENT a in, CLIENT b waits, OTHER b in",
    ),
    "the broker's limit counts all listeners and holds all but the protected ones": Case(
        BrokerLimits(max_connections=2),
        {"CLIENT": ListenerLimits(), "OTHER": ListenerLimits(), "REPLICATION": ListenerLimits(protected=True)},
        "CLIENT a in, REPLICATION b in, CLIENT a waits, OTHER c waits, REPLICATION b in",
    ),
    "a protected listener has its own limit": Case(
        BrokerLimits(),
        {"REPLICATION": ListenerLimits(max_connections=1, protected=True)},
        "REPLICATION a in, REPLICATION b waits",
    ),
    "an address counts over all listeners but brokers' own, which it may always come in on": Case(
        BrokerLimits(max_per_ip=2),
        {"CLIENT": ListenerLimits(), "OTHER": ListenerLimits(), "REPLICATION": ListenerLimits(any_per_ip=True)},
        "REPLICATION a in, CLIENT a in, OTHER a in, CLIENT a closed, REPLICATION a in, CLIENT b in",
    ),
    "an address's own limit may be lower, higher or nothing": Case(
        BrokerLimits(max_per_ip=1, per_ip_overrides={"b": 2, "c": 0}),
        {"CLIENT": ListenerLimits()},
        "CLIENT a in, CLIENT a closed, CLIENT b in, CLIENT b in, CLIENT b closed, CLIENT c closed",
    ),
    "the limit of connections is checked before that of the address": Case(
        BrokerLimits(max_connections=1, max_per_ip=0, per_ip_overrides={"a": 1}),
        {"CLIENT": ListenerLimits()},
        "CLIENT a in, CLIENT b waits",
    ),
    "the rate of the broker does not hold the protected listener, its own does": Case(
        BrokerLimits(max_creation_rate=1),
        {
            "CLIENT": ListenerLimits(),
            "REPLICATION": ListenerLimits(protected=True, creation_rate=rate(2)),
        },
        "CLIENT a in, CLIENT b waits, REPLICATION a in, REPLICATION a in, REPLICATION a waits",
    ),
    "a connection that is closed for its address has been counted by the rate": Case(
        BrokerLimits(max_per_ip=1),
        {"CLIENT": ListenerLimits(creation_rate=rate(3))},
        "CLIENT a in, CLIENT a closed, CLIENT a closed, CLIENT b waits",
    ),
}


@pytest.mark.spec("L5")
@pytest.mark.parametrize("rule", KAFKAS_RULES)
def test_which_connections_are_accepted(rule: str) -> None:
    case = KAFKAS_RULES[rule]
    counted = ConnectionQuotas(case.broker, case.listeners, ManualClock(), lambda for_brokers: False)
    seen = []
    for connection in case.connections.split(", "):
        listener, address, _ = connection.split()
        if counted.wait_seconds(listener) > 0:
            result = "waits"
        else:
            result = "in" if counted.admit(listener, address) else "closed"
        seen.append(f"{listener} {address} {result}")
    assert ", ".join(seen) == case.connections


def test_no_listener_uses_the_last_descriptors() -> None:
    listeners = {"CLIENT": ListenerLimits(), "REPLICATION": ListenerLimits(protected=True)}
    scarce_for_brokers: dict[bool, bool] = {}
    counted = ConnectionQuotas(
        BrokerLimits(), listeners, ManualClock(), lambda protected: scarce_for_brokers[protected]
    )
    for scarce_for_brokers[False], scarce_for_brokers[True] in ((False, False), (True, False), (True, True)):
        assert (counted.wait_seconds("CLIENT") > 0) is scarce_for_brokers[False]
        assert (counted.wait_seconds("REPLICATION") > 0) is scarce_for_brokers[True]
