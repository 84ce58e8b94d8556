"""Two hundred answers that become known together: one by one, in order, with the loop turning in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.broker.paced_answers import PacedAnswers
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from signalbox.transport.long_lane import LongLane
from tests.broker.asking import request_of

REQUEST = request_of(HeartbeatRequest(group_id="g"), 4)


def awaited(paced: PacedAnswers, told: list[Any], count: int) -> list[asyncio.Future[Any]]:
    """Futures whose answers are told as they are given."""
    futures = [asyncio.get_running_loop().create_future() for _ in range(count)]
    for future in futures:
        paced.of(REQUEST, future).then(told.append)
    return futures


async def over(lane: LongLane) -> None:
    await asyncio.sleep(0)
    while lane.waiting:  # noqa: ASYNC110 - a round of the loop is what is waited for
        await asyncio.sleep(0)


@pytest.mark.spec("C5")
def test_the_loop_turns_between_two_answers() -> None:
    async def main() -> None:
        told: list[Any] = []
        lane = LongLane(asyncio.get_running_loop(), slice_us=0)
        for throttle_ms, future in enumerate(awaited(PacedAnswers(lane), told, 3)):
            future.set_result(HeartbeatResponse(throttle_time_ms=throttle_ms))
        given: list[int] = []
        for _ in range(4):
            await asyncio.sleep(0)
            given.append(len(told))
        await over(lane)
        assert given == [1, 2, 3, 3]
        assert [answer.throttle_time_ms for answer in told] == [0, 1, 2]

    asyncio.run(main())


def test_errors_are_answers_and_what_was_cancelled_is_none(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        told: list[Any] = []
        lane = LongLane(asyncio.get_running_loop())
        refused, failed, cancelled, fine = awaited(PacedAnswers(lane), told, 4)
        refused.set_exception(KafkaError(Error.NOT_COORDINATOR))
        failed.set_exception(ZeroDivisionError())
        cancelled.cancel()
        fine.set_result(HeartbeatResponse())
        await over(lane)
        assert [answer.error_code for answer in told] == [Error.NOT_COORDINATOR, Error.UNKNOWN_SERVER_ERROR, 0]

    asyncio.run(main())
    assert "ZeroDivisionError" in caplog.text


def test_it_begins_anew_after_a_pause() -> None:
    async def main() -> None:
        told: list[Any] = []
        lane = LongLane(asyncio.get_running_loop())
        paced = PacedAnswers(lane)
        for _ in range(2):
            awaited(paced, told, 1)[0].set_result(HeartbeatResponse())
            await over(lane)
        assert len(told) == 2

    asyncio.run(main())
