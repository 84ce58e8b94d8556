"""The response to a decision that is stored: at once, or when this node's metadata cache shows the change."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from signalbox.controller.decision import Decision, Visibility
from signalbox.controller.event_batch import ControllerEvent, ResponseFuture
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.message import Message

Spawn = Callable[[Coroutine[Any, Any, None]], object]


def complete_event(event: ControllerEvent, decision: Decision, cache: MetadataCache, spawn: Spawn) -> None:
    """Complete the event's future, if it has one. Waiting for visibility runs in a spawned coroutine."""
    future, response, visibility = event.future, decision.response, decision.visibility
    if future is None or response is None or future.done():
        return
    if visibility is None:
        future.set_result(response)
    elif visibility.timeout_ms <= 0:
        future.set_result(visibility.when_late())
    else:
        spawn(_when_visible(future, response, visibility, cache))


async def _when_visible(
    future: ResponseFuture, response: Message, visibility: Visibility, cache: MetadataCache
) -> None:
    in_time = await cache.wait_until(visibility.holds, visibility.timeout_ms / 1000)
    if not future.done():
        future.set_result(response if in_time else visibility.when_late())
