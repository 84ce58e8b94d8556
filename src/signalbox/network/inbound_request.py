"""One request as the broker gets it: header, the untouched frame, who sent it, and the way to answer.

The frame is kept byte for byte, because a forwarded request travels in its Envelope exactly as it came (F3). It is
writable (storage patches base offsets in place) and valid until the request is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext
from signalbox.transport.frame_channel import Chunk

if TYPE_CHECKING:
    from signalbox.network.connection import Connection


class InboundRequest:
    """`frame` is the whole request without its 4-byte size; the body starts at `body_offset`. `received_at` is in
    monotonic seconds. Exactly one of the answers below ends it; after a close they do nothing."""

    __slots__ = ("body_offset", "connection", "context", "frame", "header", "received_at")

    def __init__(
        self,
        connection: Connection,
        header: RequestHeader,
        frame: memoryview,
        body_offset: int,
        received_at: float,
    ) -> None:
        self.connection = connection
        self.context: RequestContext = connection.context
        self.header = header
        self.frame = frame
        self.body_offset = body_offset
        self.received_at = received_at

    def respond(self, chunks: Sequence[Chunk]) -> None:
        """Send `chunks`, which begin with the response header, and let the connection read on."""
        self.connection.finish(self, chunks)

    def throttle(self, milliseconds: int) -> None:
        """Said before the answer: after it the connection is not read for so long (KIP-219)."""
        self.connection.throttle(milliseconds / 1000)

    def respond_nothing(self) -> None:
        """The request takes no answer (Produce with acks=0)."""
        self.connection.finish(self, None)

    def close_connection(self, reason: str) -> None:
        """The answer is that there is none: the client has to connect again. Earlier answers still leave."""
        self.connection.channel.close_after_flush(reason)
        self.connection.leave(self)

    def refuse(self, reason: str) -> None:
        """It is no request after all: counted, logged, and the connection closed."""
        self.connection.refuse("garbled", reason, self.header)
        self.connection.leave(self)
