"""Responses of decisions: at once, when the change is visible in the image, or after the timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from signalbox.controller.answering import give_answer
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Visibility
from signalbox.controller.event_batch import ControllerEvent
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.update_metadata import UpdateMetadataResponse

DONE, LATE = UpdateMetadataResponse(), UpdateMetadataResponse(error_code=Error.REQUEST_TIMED_OUT)


def nothing(context: ControllerContext) -> Decision:
    return Decision()


def answered(decision: Decision) -> tuple[bool, Message]:
    """Whether the response was set at once, and the response."""

    async def run() -> tuple[bool, Message]:
        spawned: list[Coroutine[Any, Any, None]] = []
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        give_answer(ControllerEvent(nothing, answer), decision, MetadataCache(), spawned.append)
        at_once = answer.done()
        for each in spawned:
            await each
        return at_once, answer.result()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("visibility", "expected"),
    [
        (None, (True, DONE)),
        (Visibility(lambda image: True, 0, lambda: LATE), (True, LATE)),
        (Visibility(lambda image: True, 1_000, lambda: LATE), (False, DONE)),
        (Visibility(lambda image: False, 1, lambda: LATE), (False, LATE)),
    ],
)
def test_an_answer_waits_until_its_change_shows(visibility: Visibility | None, expected: tuple[bool, Message]) -> None:
    assert answered(Decision(response=DONE, visibility=visibility)) == expected


def test_nobody_waits_for_an_event_and_an_answer_is_given_once() -> None:
    async def run() -> None:
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        answer.set_result(LATE)
        for pending in (ControllerEvent(nothing), ControllerEvent(nothing, answer)):
            give_answer(pending, Decision(response=DONE), MetadataCache(), lambda work: work.close())
        assert answer.result() is LATE

    asyncio.run(run())
