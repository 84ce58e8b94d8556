"""Runs an iterator of small steps as a cooperative task, so that loading a partition never delays a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from signalbox.common.cooperative_task import yielding
from signalbox.common.scheduling.task_scheduler import TaskScheduler


def run_in_slices(
    scheduler: TaskScheduler, steps: Iterator[object], finished: Callable[[], None] = lambda: None
) -> None:
    """Run `steps` to the end, from the next round of the event loop on, then call `finished`."""

    def run() -> None:
        for _ in yielding(steps):
            pass
        finished()

    scheduler.run_soon(run)
