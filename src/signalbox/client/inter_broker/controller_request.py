"""One request to the active controller."""

from __future__ import annotations

import asyncio
from typing import Any

from signalbox.client.connection.wire_frames import Chunk, decode_response
from signalbox.protocol.api_table import API_TABLE


class ControllerRequest:
    """Ordered by `number`, so that a retried request keeps its position."""

    __slots__ = ("future", "message", "number", "version")

    def __init__(self, number: int, message: Any, future: asyncio.Future[Any]) -> None:
        self.number = number
        self.message = message
        self.future = future
        self.version = -1

    def __lt__(self, other: ControllerRequest) -> bool:
        return self.number < other.number

    def decode(self, payload: Chunk) -> Any:
        """The decoded response; DecodeError when the payload is invalid."""
        return decode_response(API_TABLE[self.message.api_key].response, payload, self.version)
