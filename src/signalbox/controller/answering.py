"""The response to a decision that is stored: at once, or when this node's metadata cache shows the change."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from signalbox.controller.decision import Decision, Visibility
from signalbox.controller.event_batch import Answer, ControllerEvent
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.message import Message

Spawn = Callable[[Coroutine[Any, Any, None]], object]


def give_answer(pending: ControllerEvent, decision: Decision, cache: MetadataCache, spawn: Spawn) -> None:
    """Complete the event's answer, if it has one. Waiting for visibility runs in a spawned coroutine."""
    answer, response, visibility = pending.answer, decision.response, decision.visibility
    if answer is None or response is None or answer.done():
        return
    if visibility is None:
        answer.set_result(response)
    elif visibility.timeout_ms <= 0:
        answer.set_result(visibility.when_late())
    else:
        spawn(_when_visible(answer, response, visibility, cache))


async def _when_visible(answer: Answer, response: Message, visibility: Visibility, cache: MetadataCache) -> None:
    in_time = await cache.wait_until(visibility.holds, visibility.timeout_ms / 1000)
    if not answer.done():
        answer.set_result(response if in_time else visibility.when_late())
