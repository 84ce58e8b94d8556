"""One request on its way to the active controller, and how its answer says "not me"."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from signalbox.client.wire_frames import Chunk, decode_response
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error


class ControllerRequest:
    """Ordered by `number`, so that a request that must be sent again keeps its place."""

    __slots__ = ("answered", "message", "number", "version")

    def __init__(self, number: int, message: Any, answered: asyncio.Future[Any]) -> None:
        self.number = number
        self.message = message
        self.answered = answered
        self.version = -1

    def __lt__(self, other: ControllerRequest) -> bool:
        return self.number < other.number

    def decode(self, payload: Chunk) -> Any:
        """The answer; DecodeError when the payload is none."""
        return decode_response(API_TABLE[self.message.api_key].response, payload, self.version)


def _by_topic(answer: Any) -> list[int]:
    return [topic.error_code for topic in answer.topics]


_ERROR_CODES: dict[int, Callable[[Any], list[int]]] = {ApiKey.CREATE_TOPICS: _by_topic}


def says_not_controller(answer: Any) -> bool:
    """Does the node that answered deny being the active controller? One such entry among many is enough (§5.5)."""
    codes = _ERROR_CODES.get(answer.api_key)
    found = codes(answer) if codes is not None else [answer.error_code]
    return Error.NOT_CONTROLLER in found
