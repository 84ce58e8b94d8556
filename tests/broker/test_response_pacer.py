"""Responses that become complete together are sent one at a time, in order; the event loop runs in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.response_pacer import ResponsePacer
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.heartbeat import HeartbeatResponse
from signalbox.transport.task_scheduler import TaskScheduler


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
