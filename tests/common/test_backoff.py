"""Waits double up to their bound, and start at the minimum after a success."""

from __future__ import annotations

import pytest

from signalbox.common.backoff import Backoff, backoff_after


def test_doubled_up_to_the_bound() -> None:
    backoff = Backoff(50, 1_000)
    assert [backoff.grow() for _ in range(7)] == [50, 100, 200, 400, 800, 1_000, 1_000]


def test_a_success_resets_the_backoff() -> None:
    backoff = Backoff(0.1, 10.0)
    assert backoff.last == 0
    assert backoff.grow() == backoff.last == 0.1
    backoff.grow()
    backoff.reset()
    assert backoff.last == 0
    assert backoff.grow() == 0.1


def test_a_first_wait_beyond_the_bound_is_cut() -> None:
    assert Backoff(50, 20).grow() == 20
    assert Backoff(0, 20).grow() == 0


@pytest.mark.parametrize(("failures", "wait"), [(1, 100), (2, 200), (4, 800), (5, 1_000), (10_000, 1_000)])
def test_counted_failures_give_the_same_waits(failures: int, wait: float) -> None:
    assert backoff_after(failures, 100, 1_000) == wait
