"""One timer for all deadlines: order, cancellation, rebuilds."""

from __future__ import annotations

import pytest

from signalbox.common.clock import ManualClock
from signalbox.replication.waiting.deadlines import Deadlines
from tests.replication.manual_time import ManualTimers


class Bench:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.timers = ManualTimers(self.clock)
        self.deadlines = Deadlines(self.clock, self.timers)
        self.expired: list[str] = []

    def pass_ms(self, ms: int) -> list[str]:
        self.clock.advance(ms)
        self.timers.run_due()
        expired, self.expired = self.expired, []
        return expired


def test_the_earliest_is_the_only_timer() -> None:
    bench = Bench()
    bench.deadlines.add(300, lambda: bench.expired.append("late"))
    bench.deadlines.add(100, lambda: bench.expired.append("early"))
    bench.deadlines.add(100, lambda: bench.expired.append("early too"))
    assert bench.timers.armed == [0.1]
    assert bench.pass_ms(99) == []
    assert bench.pass_ms(1) == ["early", "early too"]
    assert bench.timers.armed == [0.3]
    assert bench.pass_ms(200) == ["late"]
    assert bench.timers.armed == []


def test_a_cancelled_deadline_never_expires() -> None:
    bench = Bench()
    deadline = bench.deadlines.add(100, lambda: bench.expired.append("x"))
    assert len(bench.deadlines) == 1
    deadline.cancel()
    deadline.cancel()
    assert len(bench.deadlines) == 0
    assert bench.pass_ms(200) == []


def test_stale_entries_are_swept_when_they_outnumber_the_others() -> None:
    bench = Bench()
    bench.deadlines.add(1_000, lambda: bench.expired.append("kept"))
    for _ in range(1_000):
        bench.deadlines.add(900, lambda: bench.expired.append("never")).cancel()
    assert len(bench.deadlines) == 1
    assert len(bench.deadlines._heap) < 200
    assert bench.pass_ms(1_000) == ["kept"]


def test_deadlines_added_during_expiry_wait_for_the_next_run() -> None:
    bench = Bench()

    def again() -> None:
        bench.expired.append("tick")
        if len(bench.expired) < 3:
            bench.deadlines.add(0, again)

    bench.deadlines.add(10, again)
    bench.clock.advance(10)
    bench.timers.run_due()
    assert bench.expired == ["tick", "tick", "tick"]


def test_closing_forgets_everything() -> None:
    bench = Bench()
    bench.deadlines.add(10, lambda: bench.expired.append("x"))
    bench.deadlines.close()
    assert (bench.timers.armed, bench.pass_ms(20), len(bench.deadlines)) == ([], [], 0)


def test_one_that_raises_does_not_take_the_others_along() -> None:
    bench = Bench()

    def broken() -> None:
        raise RuntimeError("a fault of the test")

    bench.deadlines.add(10, broken)
    bench.deadlines.add(10, lambda: bench.expired.append("next"))
    bench.clock.advance(10)
    with pytest.raises(RuntimeError):
        bench.timers.run_due()
    assert bench.pass_ms(1) == ["next"]
