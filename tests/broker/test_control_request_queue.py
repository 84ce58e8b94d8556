"""Control requests: one at a time, in slices, in the order of arrival."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.broker.control_request_queue import ControlRequestQueue
from signalbox.common.cooperative_task import yield_if_due
from signalbox.transport.task_scheduler import TaskScheduler


def order(name: str, steps: int, recorded: list[str]) -> str:
    for _ in range(steps):
        recorded.append(name)
        yield_if_due()
    return name


@pytest.mark.spec("C5")
def test_a_long_order_lets_the_loop_turn_but_no_other_order_begin() -> None:
    async def main() -> None:
        recorded: list[str] = []
        turns = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop(), slice_us=0))
        first = turns.take(lambda: order("first", 3, recorded))
        second = turns.take(lambda: order("second", 2, recorded))
        assert (recorded, first.done, second.done) == (["first"], False, False), "the first slice runs at once"
        asyncio.get_running_loop().call_soon(recorded.append, "another connection")
        assert (await first, await second) == ("first", "second")
        assert recorded == ["first", "first", "another connection", "first", "second", "second"]

    asyncio.run(main())


def test_a_short_order_is_answered_at_once() -> None:
    async def main() -> None:
        turns = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop()))
        assert turns.take(lambda: 1).value == 1
        assert turns.take(lambda: 2).value == 2

    asyncio.run(main())


def test_one_that_fails_does_not_stop_the_next() -> None:
    async def main() -> None:
        recorded: list[str] = []
        turns = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop(), slice_us=0))
        first = turns.take(lambda: order("first", 2, recorded))
        turns.take(lambda: 1 // 0)
        last = turns.take(lambda: order("last", 1, recorded))
        assert (await first, await last) == ("first", "last")
        assert turns.take(lambda: 3).value == 3

    asyncio.run(main())
