"""Responses that become complete together are sent one at a time, in order; the event loop runs in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.broker.response_pacer import ResponsePacer, in_slices
from signalbox.common.cooperative_task import is_long, yielding
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.heartbeat import HeartbeatResponse
from signalbox.transport.task_scheduler import TaskScheduler
from tests.broker.handler_requests import ImmediateScheduler


def awaited(pacer: ResponsePacer, recorded: list[Any], count: int) -> list[Promise[Any]]:
    """Promises; their responses or errors are appended to `recorded` when they are sent."""
    promises: list[Promise[Any]] = [Promise() for _ in range(count)]
    for promise in promises:
        paced = pacer.of(promise)
        paced.then(recorded.append)
        paced.recover(Exception, recorded.append)
    return promises


async def over(scheduler: TaskScheduler) -> None:
    await asyncio.sleep(0)
    while scheduler.waiting:  # noqa: ASYNC110 - waits for one run of the event loop
        await asyncio.sleep(0)


@pytest.mark.spec("C5")
def test_the_event_loop_runs_between_two_responses() -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        for throttle_ms, promise in enumerate(awaited(ResponsePacer(scheduler), recorded, 3)):
            promise.complete(HeartbeatResponse(throttle_time_ms=throttle_ms))
        assert recorded == [], "not in the stack of the coordinator"
        given: list[int] = []
        for _ in range(4):
            await asyncio.sleep(0)
            given.append(len(recorded))
        await over(scheduler)
        assert given == [1, 2, 3, 3]
        assert [response.throttle_time_ms for response in recorded] == [0, 1, 2]

    asyncio.run(main())


def test_errors_keep_their_place() -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop())
        first, failed, fine = awaited(ResponsePacer(scheduler), recorded, 3)
        error = KafkaError(Error.NOT_COORDINATOR)
        first.complete(HeartbeatResponse(throttle_time_ms=1))
        failed.fail(error)
        fine.complete(HeartbeatResponse())
        await over(scheduler)
        assert recorded == [HeartbeatResponse(throttle_time_ms=1), error, HeartbeatResponse()]

    asyncio.run(main())


def test_it_restarts_after_a_pause() -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop())
        paced = ResponsePacer(scheduler)
        for _ in range(2):
            awaited(paced, recorded, 1)[0].complete(HeartbeatResponse())
            await over(scheduler)
        assert len(recorded) == 2

    asyncio.run(main())


def test_other_tasks_run_meanwhile() -> None:
    async def scenario() -> tuple[int, bool, int]:
        rounds = 0

        async def others() -> None:
            nonlocal rounds
            while True:
                await asyncio.sleep(0)
                rounds += 1

        beside = asyncio.ensure_future(others())
        scheduler = TaskScheduler(asyncio.get_running_loop())
        total = await in_slices(scheduler, lambda: sum(yielding(range(50_000))))
        long = await in_slices(scheduler, is_long)
        beside.cancel()
        return total, long, rounds

    total, long, rounds = asyncio.run(scenario())
    assert (total, long) == (sum(range(50_000)), True)
    assert rounds > 10


def test_its_error_is_the_callers() -> None:
    def fails() -> None:
        raise ValueError("a bug")

    async def scenario() -> None:
        await in_slices(TaskScheduler(asyncio.get_running_loop()), fails)

    with pytest.raises(ValueError, match="a bug"):
        asyncio.run(scenario())


def test_the_future_was_cancelled() -> None:
    class Later(ImmediateScheduler):
        def run(self, work: Callable[[], None], again: bool = False) -> None:
            self.work = work

    async def scenario() -> Any:
        scheduler = Later()
        done = in_slices(scheduler, lambda: 1)
        done.cancel()
        scheduler.work()
        return done.cancelled()

    assert asyncio.run(scenario())
