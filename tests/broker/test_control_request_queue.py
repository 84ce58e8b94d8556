"""Control requests: one at a time, in slices, in the order of arrival."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.broker.api_request import as_future
from signalbox.broker.control_request_queue import ControlRequestQueue
from signalbox.common.cooperative_task import yield_if_due
from signalbox.transport.task_scheduler import TaskScheduler


def control_request(name: str, steps: int, recorded: list[str]) -> str:
    for _ in range(steps):
        recorded.append(name)
        yield_if_due()
    return name


@pytest.mark.spec("C5")
def test_a_long_request_yields_to_the_event_loop_but_not_to_the_next_request() -> None:
    async def main() -> None:
        recorded: list[str] = []
        requests = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop(), slice_us=0))
        first = requests.take(lambda: control_request("first", 3, recorded))
        second = requests.take(lambda: control_request("second", 2, recorded))
        assert (recorded, first.is_done, second.is_done) == (["first"], False, False), "the first slice runs at once"
        asyncio.get_running_loop().call_soon(recorded.append, "another connection")
        assert (await as_future(first), await as_future(second)) == ("first", "second")
        assert recorded == ["first", "first", "another connection", "first", "second", "second"]

    asyncio.run(main())


def test_a_short_request_is_answered_at_once() -> None:
    async def main() -> None:
        requests = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop()))
        assert requests.take(lambda: 1).result() == 1
        assert requests.take(lambda: 2).result() == 2

    asyncio.run(main())


def test_a_request_that_fails_does_not_stop_the_next() -> None:
    async def main() -> None:
        recorded: list[str] = []
        requests = ControlRequestQueue(TaskScheduler(asyncio.get_running_loop(), slice_us=0))
        first = requests.take(lambda: control_request("first", 2, recorded))
        requests.take(lambda: 1 // 0)
        last = requests.take(lambda: control_request("last", 1, recorded))
        assert (await as_future(first), await as_future(last)) == ("first", "last")
        assert requests.take(lambda: 3).result() == 3

    asyncio.run(main())
