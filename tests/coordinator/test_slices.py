from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from signalbox.coordinator.slices import SLICE_SECONDS, run_in_slices


class HandLoop:
    """An event loop that the test runs by `run_iteration`; `seconds` is its clock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.ready: list[Callable[[], Any]] = []

    def time(self) -> float:
        return self.seconds

    def call_soon(self, callback: Callable[[], Any]) -> None:
        self.ready.append(callback)

    def run_iteration(self) -> None:
        ready, self.ready = self.ready, []
        for callback in ready:
            callback()


def test_work_is_done_in_slices_and_finished_once() -> None:
    loop, done, finished = HandLoop(), [], []

    def steps() -> Iterator[None]:
        for number in range(10):
            done.append(number)
            loop.seconds += SLICE_SECONDS / 2.5
            yield

    run_in_slices(lambda: loop, steps(), lambda: finished.append(True))
    assert done == []
    lengths = []
    while loop.ready:
        before = len(done)
        loop.run_iteration()
        lengths.append(len(done) - before)
    assert lengths == [3, 3, 3, 1]
    assert finished == [True]


def test_work_without_steps_is_finished_in_the_next_iteration() -> None:
    loop, finished = HandLoop(), []
    run_in_slices(lambda: loop, iter(()), lambda: finished.append(True))
    loop.run_iteration()
    assert (finished, loop.ready) == ([True], [])
