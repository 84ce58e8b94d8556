"""One outbound connection: requests out, responses in, matched in the order of the requests.

A wrong correlation id, a response without a request, an invalid length: each closes the connection and fails all
requests on it. A passed deadline closes it too, because the responses behind a missing one may never arrive.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from contextlib import AbstractContextManager

from signalbox.client.client_metrics import Traffic
from signalbox.client.connection.node import Address
from signalbox.client.connection.wire_frames import Chunk
from signalbox.client.failures import ClientFailure, ConnectionLost, PeerBroke
from signalbox.transport.buffer_pool import PooledBuffer
from signalbox.transport.frame_channel import PEER_CLOSED
from signalbox.transport.frame_reader import MIN_RESPONSE_BYTES, FrameSizeError
from signalbox.transport.outbound_stream import OutboundStream
from signalbox.transport.tls.tls_session import TlsSession

_LENGTH_BYTES = 4


class _Waiting:
    """A request in flight: the future of its response and the timer of its deadline."""

    __slots__ = ("correlation_id", "future", "sent_at", "timer")

    def __init__(self, correlation_id: int, future: asyncio.Future[Chunk], sent_at: float) -> None:
        self.correlation_id = correlation_id
        self.future = future
        self.sent_at = sent_at
        self.timer: asyncio.TimerHandle | None = None


class FrameStream:
    """Requests out and payloads of responses in, over one `OutboundStream`."""

    def __init__(self, address: Address, max_frame_bytes: int, tls: TlsSession | None = None) -> None:
        self.address = address
        self.loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[ClientFailure] = self.loop.create_future()
        self.waiting: deque[_Waiting] = deque()
        self.traffic = Traffic()
        self._channel = OutboundStream(max_frame_bytes, tls)
        self._channel.on_frame = self._on_frame
        self._channel.on_closed = self._on_closed

    async def open(self, sock: socket.socket) -> None:
        """Use the connected `sock`, with a TLS handshake if there is a session; TlsFailed."""
        await self._channel.open(sock)

    def one_write(self) -> AbstractContextManager[None]:
        """Requests that are sent inside the block leave together at its end."""
        return self._channel.one_write()

    def limit_frames(self, max_frame_bytes: int) -> None:
        """The largest response from now on."""
        self._channel.max_frame_bytes = max_frame_bytes

    def _on_frame(self, frame: memoryview, buffer: PooledBuffer | None) -> None:
        payload = bytes(frame)
        if buffer is not None:
            self._channel.release_buffer(buffer)
        if len(payload) < MIN_RESPONSE_BYTES:
            raise FrameSizeError(len(payload), self._channel.max_frame_bytes)
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
        self.traffic.responses += 1
        self.traffic.incoming_bytes += len(payload) + _LENGTH_BYTES
        self.traffic.latency_ms.record((self.loop.time() - waiting.sent_at) * 1000)
        if waiting.timer is not None:
            waiting.timer.cancel()
        if not waiting.future.done():
            waiting.future.set_result(payload)

    def _on_closed(self, reason: str) -> None:
        if self._channel.fault:
            self.fail(PeerBroke(self.address, "frame", reason))
        else:
            self.fail(ConnectionLost(self.address, "closed by the broker" if reason == PEER_CLOSED else reason))

    def send(self, chunks: list[Chunk], correlation_id: int, timeout_ms: float) -> asyncio.Future[Chunk]:
        """Send one request; the future gets the response payload."""
        waiting = _Waiting(correlation_id, self.loop.create_future(), self.loop.time())
        if self.closed.done():
            waiting.future.set_exception(self.closed.result())
            return waiting.future
        self.waiting.append(waiting)
        waiting.timer = self.loop.call_later(timeout_ms / 1000, self._overdue, correlation_id, timeout_ms)
        self.traffic.requests += 1
        self.traffic.outgoing_bytes += sum(map(len, chunks)) + _LENGTH_BYTES
        self._channel.send_frame(chunks)
        return waiting.future

    def _overdue(self, correlation_id: int, timeout_ms: float) -> None:
        self.fail(ConnectionLost(self.address, f"no answer to request {correlation_id} within {timeout_ms:.0f} ms"))

    def fail(self, failure: ClientFailure) -> None:
        """Close the connection: all requests on it fail with `failure`. Only the first failure counts."""
        if self.closed.done():
            return
        self.closed.set_result(failure)
        self._channel.close(str(failure))
        for waiting in self.waiting:
            if waiting.timer is not None:
                waiting.timer.cancel()
            if not waiting.future.done():
                waiting.future.set_exception(failure)
                waiting.future.exception()  # marks it as retrieved: the caller may have been cancelled
        self.waiting.clear()
