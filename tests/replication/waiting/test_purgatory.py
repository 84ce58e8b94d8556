"""Parked operations: woken by events, attempted once per loop iteration, completed at their deadline."""

from __future__ import annotations

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.replication.waiting.purgatory import Purgatory, WatchList
from tests.common.waiting.manual_time import ManualIterations, ManualTimers


class Operation:
    kind = "Fetch"

    def __init__(self, ready_after: int = 1) -> None:
        self.attempts = 0
        self.expired = False
        self.ready_after = ready_after

    def try_complete(self) -> bool:
        self.attempts += 1
        return self.attempts >= self.ready_after

    def expire(self) -> None:
        self.expired = True


class Bench:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.timers = ManualTimers(self.clock)
        self.iterations = ManualIterations()
        self.purgatory = Purgatory(Deadlines(self.clock, self.timers), self.iterations)
        self.list: WatchList = {}

    def pass_ms(self, ms: int) -> None:
        self.clock.advance(ms)
        self.timers.run_due()


def test_many_events_of_an_iteration_are_one_attempt() -> None:
    bench, operation, other = Bench(), Operation(ready_after=2), WatchList()
    bench.purgatory.park(operation, (bench.list, other), 500)
    for _ in range(5):
        bench.purgatory.wake(bench.list)
        bench.purgatory.wake(other)
    assert operation.attempts == 0
    bench.iterations.end()
    assert (operation.attempts, bench.purgatory.size) == (1, 1)
    bench.purgatory.wake(bench.list)
    bench.iterations.end()
    assert (operation.attempts, bench.purgatory.size, bench.list, other) == (2, 0, {}, {})
    bench.pass_ms(1_000)
    assert not operation.expired


def test_no_operation_is_attempted_without_an_event() -> None:
    bench, operation = Bench(), Operation()
    bench.purgatory.park(operation, (bench.list,), 500)
    bench.iterations.end()
    assert operation.attempts == 0


def test_the_deadline_ends_it() -> None:
    bench, operation = Bench(), Operation()
    bench.purgatory.park(operation, (bench.list,), 500)
    bench.pass_ms(499)
    assert not operation.expired
    bench.pass_ms(1)
    assert (operation.expired, operation.attempts, bench.purgatory.size, bench.list) == (True, 0, 0, {})


def test_a_dropped_operation_is_gone_even_when_it_was_marked() -> None:
    bench, operation = Bench(), Operation()
    parked = bench.purgatory.park(operation, (bench.list,), 500)
    bench.purgatory.wake(bench.list)
    bench.purgatory.drop(parked)
    bench.purgatory.drop(parked)
    bench.iterations.end()
    bench.pass_ms(500)
    assert (operation.attempts, operation.expired, bench.purgatory.size) == (0, False, 0)


def test_operations_woken_by_a_completion_are_attempted_in_the_same_round() -> None:
    bench, second, second_list = Bench(), Operation(), WatchList()

    class First(Operation):
        def try_complete(self) -> bool:
            bench.purgatory.wake(second_list)
            return True

    bench.purgatory.park(First(), (bench.list,), 500)
    bench.purgatory.park(second, (second_list,), 500)
    bench.purgatory.wake(bench.list)
    bench.iterations.end()
    assert (second.attempts, bench.purgatory.size) == (1, 0)


def test_fetches_of_a_replica_share_a_list() -> None:
    bench = Bench()
    assert bench.purgatory.of_replica(2) is bench.purgatory.of_replica(2)
    assert bench.purgatory.of_replica(2) is not bench.purgatory.of_replica(3)


def test_one_that_raises_does_not_take_the_others_along() -> None:
    bench, second = Bench(), Operation()

    class Broken(Operation):
        def try_complete(self) -> bool:
            raise RuntimeError("a fault of the test")

    bench.purgatory.park(Broken(), (bench.list,), 500)
    bench.purgatory.park(second, (bench.list,), 500)
    bench.purgatory.wake(bench.list)
    with pytest.raises(RuntimeError):
        bench.iterations.end()
    bench.iterations.end()
    assert (second.attempts, bench.purgatory.size) == (1, 1)
