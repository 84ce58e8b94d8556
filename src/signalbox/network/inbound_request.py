"""One request as the broker gets it: header, the unchanged frame, the request context, and methods to respond.

The frame is kept byte for byte, because a forwarded request is sent in its Envelope exactly as it was received (F3). It
is writable (storage patches base offsets in place) and valid until the request is answered.
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
    """`frame` is the complete request without its 4-byte size; the body starts at `body_offset`. `received_at` is in
    monotonic seconds. The request ends with exactly one call of `respond`, `respond_nothing`, `close_connection` or
    `reject`; after the connection is closed they do nothing."""

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
        """Send `chunks`, which begin with the response header, and let the connection read the next request."""
        self.connection.finish(self, chunks)

    def throttle(self, milliseconds: int) -> None:
        """Call it before the response: after the response the connection is not read for this time (KIP-219)."""
        self.connection.throttle(milliseconds / 1000)

    def respond_nothing(self) -> None:
        """The request gets no response (Produce with acks=0)."""
        self.connection.finish(self, None)

    def close_connection(self, reason: str) -> None:
        """Close the connection instead of a response: the client must reconnect. Earlier responses are still sent."""
        self.connection.channel.close_after_flush(reason)
        self.connection.abandon(self)

    def reject(self, reason: str) -> None:
        """The frame is not a valid request: count and log it, and close the connection."""
        self.connection.reject("garbled", reason, self.header)
        self.connection.abandon(self)
