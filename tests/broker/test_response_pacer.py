"""Responses that become complete together are sent one at a time, in order; the event loop runs in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.response_pacer import ResponsePacer
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.broker.handler_requests import request_of

REQUEST = request_of(HeartbeatRequest(group_id="g"), 4)


def awaited(paced: ResponsePacer, recorded: list[Any], count: int) -> list[asyncio.Future[Any]]:
    """Futures; their responses are appended to `recorded` when they are sent."""
    futures = [asyncio.get_running_loop().create_future() for _ in range(count)]
    for future in futures:
        paced.of(REQUEST, future).then(recorded.append)
    return futures


async def over(scheduler: TaskScheduler) -> None:
    await asyncio.sleep(0)
    while scheduler.waiting:  # noqa: ASYNC110 - waits for one run of the event loop
        await asyncio.sleep(0)


@pytest.mark.spec("C5")
def test_the_event_loop_runs_between_two_responses() -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        for throttle_ms, future in enumerate(awaited(ResponsePacer(scheduler), recorded, 3)):
            future.set_result(HeartbeatResponse(throttle_time_ms=throttle_ms))
        given: list[int] = []
        for _ in range(4):
            await asyncio.sleep(0)
            given.append(len(recorded))
        await over(scheduler)
        assert given == [1, 2, 3, 3]
        assert [response.throttle_time_ms for response in recorded] == [0, 1, 2]

    asyncio.run(main())


def test_errors_are_answers_and_what_was_cancelled_is_none(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop())
        rejected, failed, cancelled, fine = awaited(ResponsePacer(scheduler), recorded, 4)
        rejected.set_exception(KafkaError(Error.NOT_COORDINATOR))
        failed.set_exception(ZeroDivisionError())
        cancelled.cancel()
        fine.set_result(HeartbeatResponse())
        await over(scheduler)
        assert [response.error_code for response in recorded] == [Error.NOT_COORDINATOR, Error.UNKNOWN_SERVER_ERROR, 0]

    asyncio.run(main())
    assert "ZeroDivisionError" in caplog.text


def test_it_restarts_after_a_pause() -> None:
    async def main() -> None:
        recorded: list[Any] = []
        scheduler = TaskScheduler(asyncio.get_running_loop())
        paced = ResponsePacer(scheduler)
        for _ in range(2):
            awaited(paced, recorded, 1)[0].set_result(HeartbeatResponse())
            await over(scheduler)
        assert len(recorded) == 2

    asyncio.run(main())
