from __future__ import annotations

import asyncio
from collections.abc import Iterator

from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.coordinator.slices import run_in_slices


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
