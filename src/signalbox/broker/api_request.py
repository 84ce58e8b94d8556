"""A request on its way through the house, and what a handler may answer it with.

Handlers see the decoded body and the context; they never see the socket. What they return is one of
- a response message (it is encoded at the request's version),
- an awaitable of one (the answer is not known yet: nothing waits, the connection stays muted),
- `NO_ANSWER` (produce with acks=0), `RawAnswer` (bytes that another node made, header included), or
- `CloseConnection` (Kafka closes instead of answering).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext


class ResponseMessage(Protocol):
    """Any response of the protocol."""

    def encode_chunks(self, version: int) -> list[Any]: ...


class ApiRequest:
    """One decoded request.

    `frame` is the request as it came (without the size), kept for forwarding; `forwarded_by` is the node whose
    Envelope carried it, or None when it came from its client directly; `sent_on` whether this broker forwarded it, or
    a part; `queue_s` how long it waited for the handler, `busy_s` how
    long it has kept the thread.
    """

    __slots__ = ("body", "busy_s", "context", "forwarded_by", "frame", "header", "queue_s", "received_at", "sent_on")

    def __init__(
        self,
        header: RequestHeader,
        body: Any,
        context: RequestContext,
        frame: bytes | memoryview,
        received_at: float,
        forwarded_by: str | None = None,
    ) -> None:
        self.header = header
        self.body = body
        self.context = context
        self.frame = frame
        self.received_at = received_at
        self.forwarded_by = forwarded_by
        self.queue_s = 0.0
        self.busy_s = 0.0
        self.sent_on = False


class NoAnswer:
    """Nothing is sent: the client asked for no acknowledgement."""

    __slots__ = ()


NO_ANSWER = NoAnswer()


class RawAnswer:
    """A payload with its response header, as another node made it; sent on as it is. `throttle_time_ms`: how long the
    client is told in it to wait."""

    __slots__ = ("payload", "throttle_time_ms")

    def __init__(self, payload: bytes, throttle_time_ms: int = 0) -> None:
        self.payload = payload
        self.throttle_time_ms = throttle_time_ms


class CloseConnection:
    """The connection is closed without an answer, for the reason that the log gives."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


FinalAnswer = ResponseMessage | NoAnswer | RawAnswer | CloseConnection
Answer = FinalAnswer | Awaitable[FinalAnswer]
Handler = Callable[[ApiRequest], Answer]
