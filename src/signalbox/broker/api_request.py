"""A decoded request, and the responses that a handler may return for it.

Handlers see the decoded body and the context; they never see the socket. A handler returns one of
- a response message (it is encoded at the request's version), or an `EncodedBody` in its place,
- a promise or an awaitable of one (the response comes later: no thread blocks, the connection stays muted),
- `NO_RESPONSE` (produce with acks=0), `RawResponse` (bytes that another node encoded, header included), or
- `CloseConnection` (Kafka closes the connection instead of responding).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from signalbox.common.waiting.promise import Promise
from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext

T = TypeVar("T")


class ResponseMessage(Protocol):
    """Any response of the protocol."""

    def encode_chunks(self, version: int) -> list[Any]: ...


class ApiRequest:
    """One decoded request.

    `frame` is the request as received (without the size), kept for forwarding. `forwarded_by` is the node whose
    Envelope carried it, or None when the client sent it directly. `was_forwarded`: this broker forwarded the
    request or a part of it. `own_of_broker`: the broker whose Envelope carried it asked for itself, not for a client.
    `replicates`: a replica fetcher sent it, and is authorized to. `queue_s` is the time it waited for the handler,
    `busy_s` the time it occupied the thread.
    """

    __slots__ = (
        "body",
        "busy_s",
        "context",
        "forwarded_by",
        "frame",
        "header",
        "own_of_broker",
        "queue_s",
        "received_at",
        "replicates",
        "was_forwarded",
    )

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
        self.was_forwarded = False
        self.own_of_broker = False
        self.replicates = False


class NoResponse:
    """No response is sent: the client requested no acknowledgement (acks=0)."""

    __slots__ = ()


NO_RESPONSE = NoResponse()


class RawResponse:
    """A payload with its response header, encoded by another node and sent unchanged. `throttle_time_ms`: the throttle
    time that the payload contains."""

    __slots__ = ("payload", "throttle_time_ms")

    def __init__(self, payload: bytes, throttle_time_ms: int = 0) -> None:
        self.payload = payload
        self.throttle_time_ms = throttle_time_ms


class CloseConnection:
    """The connection is closed without a response; `reason` is logged."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


FinalResponse = ResponseMessage | NoResponse | RawResponse | CloseConnection
HandlerResult = FinalResponse | Promise[Any] | Awaitable[FinalResponse]
Handler = Callable[[ApiRequest], HandlerResult]


class EncodedBody:
    """Used in place of a response message; its chunks are shared between responses and never changed."""

    __slots__ = ("chunks", "error_code")

    def __init__(self, chunks: list[Any], error_code: int = 0) -> None:
        self.chunks = chunks
        self.error_code = error_code

    def encode_chunks(self, version: int) -> list[Any]:
        return self.chunks


def as_future(promise: Promise[T]) -> asyncio.Future[T]:
    """For coroutines: a future with the promise's result. Cancelling the future leaves the promise as it is."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def settle() -> None:
        if future.done():
            return  # the connection was closed and its handler cancelled
        if promise.error is not None:
            future.set_exception(promise.error)
        else:
            future.set_result(promise.result())

    promise.when_done(settle)
    return future


async def settled(response: HandlerResult) -> FinalResponse:
    """The response of a handler, awaited if it comes later."""
    if isinstance(response, Promise):
        return await as_future(response)
    return await response if inspect.isawaitable(response) else response
