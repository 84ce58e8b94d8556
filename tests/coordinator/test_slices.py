from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.coordinator.loop_port import Alarm
from signalbox.coordinator.slices import run_in_slices


class HandLoop:
    """An event loop that the test runs by `run_iteration`; `seconds` is its clock."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.ready: list[Callable[[], Any]] = []
        self.alarms: list[HandAlarm] = []

    def time(self) -> float:
        return self.seconds

    def call_soon(self, callback: Callable[[], Any]) -> None:
        self.ready.append(callback)

    def call_at(self, when: float, callback: Callable[[], Any]) -> Alarm:
        self.alarms.append(HandAlarm(when, callback))
        return self.alarms[-1]

    def run_iteration(self) -> None:
        ready, self.ready = self.ready, []
        for callback in ready:
            callback()


class HandAlarm:
    def __init__(self, when: float, callback: Callable[[], Any]) -> None:
        self._when = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def when(self) -> float:
        return self._when


def test_work_is_done_in_slices_and_finished_once() -> None:
    async def main() -> None:
        done: list[int] = []
        finished: list[int] = []

        def steps() -> Iterator[None]:
            for number in range(10):
                done.append(number)
                yield

        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        run_in_slices(scheduler, steps(), lambda: finished.append(len(done)))
        assert done == []
        while scheduler.waiting:  # noqa: ASYNC110 - the test waits for rounds of the loop
            await asyncio.sleep(0)
        assert (finished, scheduler.slices) == ([10], 11)

    asyncio.run(main())


def test_work_without_steps_is_finished_in_the_next_round() -> None:
    async def main() -> None:
        finished: list[bool] = []
        run_in_slices(TaskScheduler(asyncio.get_running_loop()), iter(()), lambda: finished.append(True))
        assert finished == []
        await asyncio.sleep(0)
        assert finished == [True]

    asyncio.run(main())
