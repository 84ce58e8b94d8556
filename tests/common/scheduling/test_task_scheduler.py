"""The scheduler: one slice at once, then one per round of the loop, tasks in turn; between two slices the loop serves
connections. Its forms for coroutines, and its queue."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from signalbox.common.cooperative_task import is_long, own_time, yield_if_due, yielding
from signalbox.common.scheduling.task_scheduler import TaskQueue, TaskScheduler


async def is_complete(scheduler: TaskScheduler) -> None:
    while scheduler.waiting:  # noqa: ASYNC110 - the test waits for rounds of the loop
        await asyncio.sleep(0)


def slices_of(name: str, count: int, order: list[str]) -> None:
    for _ in range(count):
        order.append(name)
        yield_if_due()


async def count_rounds(rounds: list[None]) -> None:
    """Another coroutine of the loop: adds an item in each round."""
    while True:
        await asyncio.sleep(0)
        rounds.append(None)


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
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


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


def test_a_scheduler_beside_another_has_a_slice_in_each_round() -> None:
    async def main() -> None:
        order: list[str] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        for _ in range(10):
            scheduler.run(lambda: slices_of("client", 4, order))
        order.clear()
        await scheduler.beside().result_of(lambda: slices_of("controller", 4, order))
        assert order.count("controller") == 4
        assert order.count("client") <= 5

    asyncio.run(main())


def test_a_task_of_the_next_round_does_not_interrupt_its_caller() -> None:
    async def main() -> None:
        order: list[str] = []
        scheduler = TaskScheduler(asyncio.get_running_loop())
        scheduler.run_soon(lambda: order.append("task"))
        order.append("caller")
        await is_complete(scheduler)
        assert order == ["caller", "task"]

    asyncio.run(main())


def test_the_result_for_a_coroutine_comes_after_other_coroutines_have_run() -> None:
    async def main() -> tuple[int, bool, int]:
        rounds: list[None] = []
        beside = asyncio.ensure_future(count_rounds(rounds))
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        total = await scheduler.result_of(lambda: sum(yielding(range(50))))
        long = await scheduler.result_of(is_long)
        beside.cancel()
        return total, long, len(rounds)

    total, long, rounds = asyncio.run(main())
    assert (total, long) == (sum(range(50)), True)
    assert rounds >= 50


def test_a_short_result_is_complete_at_once() -> None:
    async def main() -> None:
        result: Any = TaskScheduler(asyncio.get_running_loop()).result_of(lambda: 1)
        assert result.done()
        assert await result == 1

    asyncio.run(main())


def test_the_error_of_a_task_is_that_of_the_coroutine() -> None:
    async def main() -> None:
        await TaskScheduler(asyncio.get_running_loop()).result_of(lambda: int("a bug"))

    with pytest.raises(ValueError, match="a bug"):
        asyncio.run(main())


def test_a_cancelled_coroutine_ends_its_task_where_it_has_yielded() -> None:
    async def main() -> None:
        order: list[str] = []

        def work() -> None:
            try:
                slices_of("slice", 5, order)
            finally:
                order.append("ended")

        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        waiting = asyncio.ensure_future(scheduler.result_of(work))
        waiting.cancel()
        await is_complete(scheduler)
        assert order[-1] == "ended"
        assert len(order) < 5
        assert waiting.cancelled()

    asyncio.run(main())


def test_a_coroutine_yields_between_two_values_when_its_slice_is_over() -> None:
    async def rounds_of(slice_us: int) -> int:
        rounds: list[None] = []
        beside = asyncio.ensure_future(count_rounds(rounds))
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us)
        assert [value async for value in scheduler.yielding(range(5))] == [0, 1, 2, 3, 4]
        beside.cancel()
        return len(rounds)

    assert asyncio.run(rounds_of(slice_us=0)) >= 4
    assert asyncio.run(rounds_of(slice_us=10**12)) == 0


def test_a_queue_runs_one_work_after_the_other(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        order: list[str] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        queue = TaskQueue(scheduler)
        queue.add(lambda: slices_of("a", 3, order))
        queue.add(lambda: order.append(str(1 // 0)))
        queue.add(lambda: slices_of("b", 2, order))
        scheduler.run(lambda: slices_of("beside", 2, order))
        assert order == ["a", "beside"]
        await is_complete(scheduler)
        assert order == ["a", "beside", "a", "beside", "a", "b", "b"]
        queue.add(lambda: order.append("later"))
        assert order[-1] == "later", "an empty queue begins at once"

    asyncio.run(main())
    assert "ZeroDivisionError" in caplog.text
