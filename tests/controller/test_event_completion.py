"""Responses of decisions: at once, when the change is visible in the image, or after the timeout."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Visibility
from signalbox.controller.event_batch import ControllerEvent
from signalbox.controller.event_completion import complete_event
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.update_metadata import UpdateMetadataResponse

DONE, LATE = UpdateMetadataResponse(), UpdateMetadataResponse(error_code=Error.REQUEST_TIMED_OUT)


def nothing(context: ControllerContext) -> Decision:
    return Decision()


def completed(decision: Decision) -> tuple[bool, Message]:
    """Whether the response was set at once, and the response."""

    async def run() -> tuple[bool, Message]:
        spawned: list[Coroutine[Any, Any, None]] = []
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        complete_event(ControllerEvent(nothing, future), decision, MetadataCache(), spawned.append)
        at_once = future.done()
        for each in spawned:
            await each
        return at_once, future.result()

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
def test_a_response_waits_until_its_change_is_visible(
    visibility: Visibility | None, expected: tuple[bool, Message]
) -> None:
    assert completed(Decision(response=DONE, visibility=visibility)) == expected


def test_an_internal_event_has_no_future_and_a_future_is_completed_once() -> None:
    async def run() -> None:
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        future.set_result(LATE)
        for event in (ControllerEvent(nothing), ControllerEvent(nothing, future)):
            complete_event(event, Decision(response=DONE), MetadataCache(), lambda work: work.close())
        assert future.result() is LATE

    asyncio.run(run())
