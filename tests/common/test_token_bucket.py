"""A rate with a burst."""

from __future__ import annotations

from signalbox.common.limits import MAX_THROTTLE_MS
from signalbox.common.token_bucket import TokenBucket


def test_the_burst_is_free_and_debts_are_paid_by_the_rate() -> None:
    bucket = TokenBucket(rate=10.0, burst=100.0, now=0.0)
    bucket.take(100, 0.0)
    assert (bucket.in_debt(0.0), bucket.wait_ms(0.0)) == (False, 0)
    bucket.take(25, 0.0)
    assert (bucket.in_debt(0.0), bucket.wait_ms(0.0)) == (True, 2_500)
    assert bucket.wait_ms(1.0) == 1_500
    assert not bucket.in_debt(2.5)


def test_it_never_holds_more_than_the_burst() -> None:
    bucket = TokenBucket(rate=10.0, burst=20.0, now=0.0)
    bucket.take(5, 1_000.0)
    assert bucket.tokens == 15
    bucket.give_back(50)
    assert bucket.tokens == 20


def test_the_delay_is_bounded() -> None:
    bucket = TokenBucket(rate=1.0, burst=1.0, now=0.0)
    bucket.take(1e12, 0.0)
    assert bucket.wait_ms(0.0) == MAX_THROTTLE_MS


def test_another_rate_forgives_nothing() -> None:
    bucket = TokenBucket(rate=10.0, burst=100.0, now=0.0)
    bucket.take(150, 0.0)
    bucket.change(rate=50.0, burst=500.0, now=0.0)
    assert bucket.wait_ms(0.0) == 1_000


def test_nothing_a_second_pays_no_debt() -> None:
    bucket = TokenBucket(rate=0.0, burst=0.0, now=0.0)
    bucket.take(1, 0.0)
    assert bucket.wait_ms(1_000.0) == MAX_THROTTLE_MS


def test_without_end_there_is_no_debt() -> None:
    bucket = TokenBucket(rate=float("inf"), burst=float("inf"), now=0.0)
    bucket.take(1e308, 0.0)
    assert (bucket.in_debt(0.0), bucket.wait_ms(1.0)) == (False, 0)


def test_how_long_before_so_much_may_be_taken() -> None:
    bucket = TokenBucket(rate=10.0, burst=100.0, now=0.0)
    assert bucket.wait_before_ms(60, 0.0) == 0
    bucket.take(60, 0.0)
    assert bucket.wait_before_ms(60, 0.0) == 2_000
    assert bucket.wait_before_ms(500, 0.0) == 6_000, "more than the burst waits for a full bucket"
    assert bucket.wait_before_ms(500, 6.0) == 0
    assert TokenBucket(rate=0.0, burst=0.0, now=0.0).wait_before_ms(1, 9.0) == MAX_THROTTLE_MS
