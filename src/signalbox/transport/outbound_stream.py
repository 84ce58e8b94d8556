"""An outbound connection on plain asyncio: requests out, responses in. What it has in common with an inbound one is in
`stream_channel.py`.

A request is passed to asyncio in the call that sends it, or at the end of the `one_write` around that call: its memory
may belong to a request that this node forwards, and be reused afterwards. So no request waits in the channel, however
slowly the peer reads, and reading never pauses: a peer that waits until we read its responses could not read our
requests.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.frame_channel import PEER_CLOSED, Chunk, unset
from signalbox.transport.frame_reader import FrameSizeError
from signalbox.transport.stream_channel import StreamChannel
from signalbox.transport.tls.tls_failure import TlsFailed
from signalbox.transport.tls.tls_session import TlsSession


class OutboundStream(StreamChannel):
    """Set `on_frame` and `on_closed`, then call `open` once."""

    def __init__(self, max_frame_bytes: int, tls: TlsSession | None = None) -> None:
        # No buffer is kept for reuse: there are many of these connections, and nearly all responses arrive complete.
        super().__init__(BufferPool(max_idle_bytes=0), unset, tls, max_frame_bytes)
        self._established: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._joins = False

    async def open(self, sock: socket.socket) -> None:
        """Take over the connected `sock`; returns after the TLS handshake. TlsFailed without one; the socket is closed
        then, and when the call is cancelled."""
        self.on_ready = self._on_ready
        try:
            await asyncio.get_running_loop().create_connection(lambda: self, sock=sock)
            await self._established
        except BaseException:
            self._established.cancel()
            self.close("the connection attempt was cancelled")
            raise

    def _on_ready(self) -> None:
        if not self._established.done():
            self._established.set_result(None)

    def close(self, reason: str) -> None:
        if not self._established.done():
            self._established.set_exception(TlsFailed(reason))
        super().close(reason)

    def connection_lost(self, exc: Exception | None) -> None:
        in_handshake = not self._established.done()
        self.close(PEER_CLOSED if exc is None or in_handshake else str(exc))

    def _enqueue(self, chunks: Sequence[Chunk]) -> None:
        if not self.closed:
            self._chunks.extend(chunks)
            self.queued_bytes += sum(map(len, chunks))
            if not self._joins:
                self._pump()

    @contextmanager
    def one_write(self) -> Iterator[None]:
        """Requests that are sent inside the block are passed to asyncio together at its end: the peer reads all of them
        at once."""
        self._joins = True
        try:
            yield
        finally:
            self._joins = False
            self._pump()

    def pause_writing(self) -> None:
        """asyncio keeps what the peer does not read yet."""

    def _reject_frame(self, error: FrameSizeError) -> None:
        self.fault = error.fault
        self.close(error.response_problem)
