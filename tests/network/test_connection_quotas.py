from __future__ import annotations

from signalbox.common.clock import ManualClock
from signalbox.network.connection_quotas import BrokerLimits, ConnectionQuotas, CreationRate, ListenerLimits


def quotas(broker: BrokerLimits, clock: ManualClock | None = None, **listeners: ListenerLimits) -> ConnectionQuotas:
    return ConnectionQuotas(broker, listeners, clock or ManualClock())


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


def test_other_limits_from_now_on_leave_what_is_open() -> None:
    clock = ManualClock()
    counted = quotas(BrokerLimits(max_creation_rate=1), clock, CLIENT=ListenerLimits(creation_rate=CreationRate(5)))
    assert counted.wait_seconds("CLIENT") == 0
    assert counted.admit("CLIENT", "a")
    assert counted.wait_seconds("CLIENT") > 0
    counted.change(BrokerLimits(), {"CLIENT": ListenerLimits(creation_rate=CreationRate(5))})
    # The broker's rate is gone; the listener's goes on where it was.
    for _ in range(4):
        assert counted.wait_seconds("CLIENT") == 0
        assert counted.admit("CLIENT", "a")
    assert counted.wait_seconds("CLIENT") > 0
    counted.change(BrokerLimits(max_connections=2, max_per_ip=1), {"CLIENT": ListenerLimits(max_connections=4)})
    assert (counted.total, counted.excess) == (5, 3)
    assert counted.wait_seconds("CLIENT") > 0
    assert not counted.admit("CLIENT", "a")
    assert counted.admit("CLIENT", "b")
