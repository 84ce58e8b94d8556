"""The scheduler: periodic work, and long loops that are split into slices."""

from __future__ import annotations

from signalbox.common.clock import ManualClock
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.replication.replica_dependencies import Scheduler
from tests.common.waiting.manual_time import ManualIterations, ManualTimers


def scheduler() -> tuple[Scheduler, ManualClock, ManualTimers]:
    clock = ManualClock()
    timers = ManualTimers(clock)
    return Scheduler(Deadlines(clock, timers), ManualIterations(), lambda work: work()), clock, timers


def test_periodic_work_goes_on_until_the_end() -> None:
    made, clock, timers = scheduler()
    ticks: list[float] = []
    made.every(100, lambda: ticks.append(clock.monotonic()))
    for _ in range(5):
        clock.advance(50)
        timers.run_due()
    assert [round(tick, 3) for tick in ticks] == [0.1, 0.2]
    made.deadlines.close()
    clock.advance(500)
    timers.run_due()
    assert len(ticks) == 2


def test_periodic_work_survives_a_failure() -> None:
    made, clock, timers = scheduler()
    ticks: list[int] = []

    def work() -> None:
        ticks.append(1)
        if len(ticks) == 1:
            raise RuntimeError("a fault of the test")

    made.every(100, work)
    clock.advance(100)
    timers.run_due()
    clock.advance(100)
    timers.run_due()
    assert len(ticks) == 2
