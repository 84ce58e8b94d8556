"""The scheduler: one slice at once, then one per round of the loop, tasks in turn; between two slices the loop serves
connections."""

from __future__ import annotations

import asyncio
import time

import pytest

from signalbox.common.cooperative_task import is_long, own_time, yield_if_due
from signalbox.transport.task_scheduler import TaskScheduler


async def is_complete(scheduler: TaskScheduler) -> None:
    while scheduler.waiting:  # noqa: ASYNC110 - the test waits for rounds of the loop
        await asyncio.sleep(0)


def slices_of(name: str, count: int, order: list[str]) -> None:
    for _ in range(count):
        order.append(name)
        yield_if_due()


@pytest.mark.spec("C5")
def test_the_loop_runs_between_two_slices() -> None:
    async def main() -> None:
        order: list[str] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        scheduler.run(lambda: slices_of("long", 4, order))
        assert order == ["long"], "the first slice runs at once"
        while scheduler.waiting:
            asyncio.get_running_loop().call_soon(order.append, "other")
            await asyncio.sleep(0)
        assert order[:6] == ["long", "long", "other", "long", "other", "long"]

    asyncio.run(main())


def test_the_rest_of_something_is_long_from_its_beginning() -> None:
    async def main() -> None:
        order: list[bool] = []
        scheduler = TaskScheduler(asyncio.get_running_loop())
        scheduler.run(lambda: order.append(is_long()))
        scheduler.run(lambda: order.append(is_long()), again=True)
        assert order == [False, True]

    asyncio.run(main())


def test_long_tasks_alternate_and_short_ones_end_at_once() -> None:
    async def main() -> None:
        order: list[str] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        scheduler.run(lambda: slices_of("a", 3, order))
        scheduler.run(lambda: slices_of("b", 3, order))
        scheduler.run(lambda: order.append("short"))
        assert scheduler.waiting == 2
        await is_complete(scheduler)
        assert order == ["a", "b", "short", "a", "b", "a", "b"]

    asyncio.run(main())


def test_a_failed_task_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        order: list[str] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)

        def fails() -> None:
            yield_if_due()
            raise ValueError("a bug")

        scheduler.run(fails)
        scheduler.run(lambda: slices_of("well", 2, order))
        await is_complete(scheduler)
        assert order == ["well", "well"]

    asyncio.run(main())
    assert "Unexpected error in a cooperative task" in caplog.text


def test_the_time_of_a_task_excludes_that_of_others() -> None:
    async def run() -> None:
        scheduler, took = TaskScheduler(asyncio.get_running_loop()), []

        def work() -> None:
            started = own_time(time.monotonic)
            for _ in range(30):
                _keep_the_thread(0.0002)
                yield_if_due()
            took.append(own_time(time.monotonic) - started)

        started = time.monotonic()
        scheduler.run(work)
        while not took:
            _keep_the_thread(0.002)  # other work on this thread
            await asyncio.sleep(0)
        total = time.monotonic() - started
        assert 0.006 <= took[0] < total / 2

    asyncio.run(run())
    started = own_time(time.monotonic)
    assert 0 <= time.monotonic() - started < 60, "outside of a cooperative task it is any clock"


def _keep_the_thread(seconds: float) -> None:
    time.sleep(seconds)


def test_a_task_started_by_a_cooperative_task_yields_to_the_loop() -> None:
    async def main() -> None:
        order: list[str] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)

        def begins() -> None:
            scheduler.run(lambda: slices_of("inner", 3, order))
            slices_of("outer", 2, order)

        scheduler.run(begins)
        await is_complete(scheduler)
        assert order == ["outer", "inner", "outer", "inner", "inner"]

    asyncio.run(main())
