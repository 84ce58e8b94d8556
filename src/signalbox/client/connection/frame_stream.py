"""The bytes of one outbound connection: frames out, responses in, matched in the order of the requests.

A wrong correlation id, a response without a request, an invalid length: each closes the connection and fails all
requests on it. A passed deadline closes it too, because the responses behind a missing one may never arrive.
"""

from __future__ import annotations

import asyncio
from collections import deque

from signalbox.client.connection.frame_guard import frame_length
from signalbox.client.connection.node import Address
from signalbox.client.connection.wire_frames import Chunk
from signalbox.client.failures import ClientFailure, ConnectionLost, PeerBroke


class _Waiting:
    """A request in flight: the future of its response and the timer of its deadline."""

    __slots__ = ("correlation_id", "future", "timer")

    def __init__(self, correlation_id: int, future: asyncio.Future[Chunk]) -> None:
        self.correlation_id = correlation_id
        self.future = future
        self.timer: asyncio.TimerHandle | None = None


class FrameStream(asyncio.Protocol):
    """Received bytes become payloads, matched with requests in the order in which they were sent."""

    def __init__(self, address: Address, max_frame_bytes: int) -> None:
        self.address = address
        self.max_frame_bytes = max_frame_bytes
        self.loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[ClientFailure] = self.loop.create_future()
        self.waiting: deque[_Waiting] = deque()
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        start = 0
        while len(received) - start >= 4:
            try:
                length = frame_length(received[start : start + 4], self.max_frame_bytes)
            except ValueError as error:
                self.fail(PeerBroke(self.address, "frame", str(error)))
                return
            if len(received) - start - 4 < length:
                break
            self._answer(bytes(received[start + 4 : start + 4 + length]))
            start += 4 + length
        if start:
            del received[:start]

    def _answer(self, payload: bytes) -> None:
        if not self.waiting:
            self.fail(PeerBroke(self.address, "frame", "a response without a request"))
            return
        correlation_id = int.from_bytes(payload[:4], "big", signed=True)
        waiting = self.waiting[0]
        if waiting.correlation_id != correlation_id:
            text = f"Correlation id for response ({correlation_id}) does not match request ({waiting.correlation_id})"
            self.fail(PeerBroke(self.address, "frame", text))
            return
        self.waiting.popleft()
        if waiting.timer is not None:
            waiting.timer.cancel()
        if not waiting.future.done():
            waiting.future.set_result(payload)

    def send(self, chunks: list[Chunk], correlation_id: int, timeout_ms: float) -> asyncio.Future[Chunk]:
        """Send one request; the future gets the response payload."""
        waiting = _Waiting(correlation_id, self.loop.create_future())
        if self._transport is None or self.closed.done():
            waiting.future.set_exception(self._gone())
            return waiting.future
        self.waiting.append(waiting)
        waiting.timer = self.loop.call_later(timeout_ms / 1000, self._overdue, correlation_id, timeout_ms)
        size = sum(map(len, chunks))
        if size < 65_536:
            self._transport.write(b"".join((size.to_bytes(4, "big"), *chunks)))
        else:
            self._transport.writelines([size.to_bytes(4, "big"), *chunks])
        return waiting.future

    def _overdue(self, correlation_id: int, timeout_ms: float) -> None:
        self.fail(ConnectionLost(self.address, f"no answer to request {correlation_id} within {timeout_ms:.0f} ms"))

    def _gone(self) -> ClientFailure:
        return self.closed.result() if self.closed.done() else ConnectionLost(self.address, "not connected")

    def connection_lost(self, error: Exception | None) -> None:
        self.fail(ConnectionLost(self.address, str(error) if error else "closed by the broker"))

    def fail(self, failure: ClientFailure) -> None:
        """Close the connection: all requests on it fail with `failure`. Only the first failure counts."""
        if self.closed.done():
            return
        self.closed.set_result(failure)
        if self._transport is not None:
            self._transport.abort()
        for waiting in self.waiting:
            if waiting.timer is not None:
                waiting.timer.cancel()
            if not waiting.future.done():
                waiting.future.set_exception(failure)
                waiting.future.exception()  # marks it as retrieved: the caller may have been cancelled
        self.waiting.clear()
        self._received.clear()
