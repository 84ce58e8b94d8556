from __future__ import annotations

from signalbox.common.clock import ManualClock
from signalbox.common.rate_limit import UNLIMITED, RateLimit


def test_without_a_rate_there_is_no_debt() -> None:
    limit = RateLimit(ManualClock().monotonic)
    for _ in range(2):
        limit.record(1 << 40)
        assert (limit.is_set, limit.in_debt(), limit.wait_ms()) == (False, False, 500.0)
        limit.set_rate(UNLIMITED, 10)


def test_a_debt_is_paid_at_the_rate() -> None:
    clock = ManualClock()
    limit = RateLimit(clock.monotonic)
    limit.set_rate(1_000, 1)
    limit.record(1_000)
    assert not limit.in_debt(), "the burst"
    limit.record(250)
    assert (limit.in_debt(), limit.wait_ms()) == (True, 250.0)
    limit.set_rate(1_000_000, 1)
    assert limit.wait_ms() == 10.0, "not shorter"
    clock.advance(1)
    assert not limit.in_debt()


def test_a_rate_of_zero_waits_for_another_one() -> None:
    limit = RateLimit(ManualClock().monotonic)
    limit.set_rate(0, 1)
    limit.record(1)
    assert (limit.in_debt(), limit.wait_ms()) == (True, 500.0)
    limit.set_rate(UNLIMITED, 1)
    assert not limit.in_debt()
