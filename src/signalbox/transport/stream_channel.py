"""A connection of the control plane: the `FrameChannel` interface on plain asyncio, outside the data loop.

Answers here are small; a large file slice (a fetch on a control plane that is not forced) is read piece by piece as
the peer takes it, between asyncio's water marks.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from signalbox.common.file_slice import FileSlice
from signalbox.common.limits import MAX_FRAME_SIZE_BYTES, MAX_SEND_QUEUE_BYTES
from signalbox.transport.buffer_pool import BufferPool, PooledBuffer
from signalbox.transport.data_channel import PEER_CLOSED
from signalbox.transport.frame_channel import Chunk, ClosedCallback, FrameCallback
from signalbox.transport.frame_reader import FrameReader, FrameSizeError
from signalbox.transport.send_queue import ShortFileError
from signalbox.transport.socket_address import address_of
from signalbox.transport.tls_session import TlsSession

_PIECE_BYTES = 262_144


def _unset(*_: object) -> None:
    """Stands in until the owner of a channel has set its callbacks."""


class StreamChannel(asyncio.Protocol):
    """`on_ready(channel)` is called once the connection stands (and TLS is through); it sets the callbacks."""

    def __init__(
        self,
        pool: BufferPool,
        on_ready: Callable[[StreamChannel], None],
        tls: TlsSession | None = None,
        max_frame_bytes: int = MAX_FRAME_SIZE_BYTES,
    ) -> None:
        self._pool = pool
        self._on_ready = on_ready
        self._tls = tls
        self._reader = FrameReader(pool, _unset, max_frame_bytes)
        self._chunks: deque[Chunk] = deque()
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self._closing: str | None = None
        self._ready = False
        self.on_closed: ClosedCallback = _unset
        self.active_at = time.monotonic()
        self.stalled_since: float | None = None
        self.bytes_in = self.bytes_out = 0
        self.queued_bytes = 0
        self.busy_seconds = 0.0
        self.closed = False
        self.peer_address: tuple[str, int] = ("", 0)
        self.local_address: tuple[str, int] = ("", 0)

    # -- the owner's side

    @property
    def on_frame(self) -> FrameCallback:
        return self._reader.on_frame

    @on_frame.setter
    def on_frame(self, callback: FrameCallback) -> None:
        self._reader.on_frame = callback

    @property
    def max_frame_bytes(self) -> int:
        return self._reader.max_frame_bytes

    @max_frame_bytes.setter
    def max_frame_bytes(self, value: int) -> None:
        self._reader.max_frame_bytes = value

    @property
    def muted(self) -> bool:
        return self._reader.muted

    @property
    def peer_certificate(self) -> dict[str, Any] | None:
        return self._tls.peer_certificate if self._tls is not None else None

    def send_frame(self, chunks: Sequence[Chunk]) -> None:
        if self.closed:
            return
        size = sum(map(len, chunks))
        self._chunks.append(size.to_bytes(4))
        self._chunks.extend(chunks)
        self.queued_bytes += size + 4
        if self.queued_bytes > MAX_SEND_QUEUE_BYTES:
            self.close(f"more than {MAX_SEND_QUEUE_BYTES} bytes wait for a peer that does not read")
        else:
            self._pump()

    def mute(self) -> None:
        self._reader.muted = True

    def unmute(self) -> None:
        reader = self._reader
        if not reader.muted or self.closed or self._closing is not None:
            return
        reader.muted = False
        assert self._transport is not None
        if reader.has_backlog:
            asyncio.get_running_loop().call_soon(self._resume)
        else:
            self._transport.resume_reading()

    def release_buffer(self, buffer: PooledBuffer) -> None:
        self._pool.release(buffer)

    def close(self, reason: str) -> None:
        if self.closed:
            return
        self.closed = True
        self._reader.discard()
        self._chunks.clear()
        self.queued_bytes = 0
        if self._transport is not None:
            self._transport.abort()
        on_closed, self.on_closed = self.on_closed, _unset
        self._reader.on_frame = _unset
        on_closed(reason)

    def close_after_flush(self, reason: str) -> None:
        if self.closed:
            return
        self._reader.muted = True
        self._closing = reason
        self._pump()

    # -- asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        if peer is None:
            self.close(PEER_CLOSED)
            return
        self.peer_address = address_of(peer)
        self.local_address = address_of(transport.get_extra_info("sockname"))
        if self._tls is None:
            self._become_ready()

    def data_received(self, data: bytes) -> None:
        if self.closed:
            return
        started = time.monotonic()
        self.active_at = started
        self.bytes_in += len(data)
        try:
            self._take(data)
        except FrameSizeError as error:
            self.close(str(error))
        self.busy_seconds += time.monotonic() - started

    def connection_lost(self, exc: Exception | None) -> None:
        self.close(f"the connection was lost: {exc}" if exc else PEER_CLOSED)

    def pause_writing(self) -> None:
        self._writable = False
        self.stalled_since = time.monotonic()

    def resume_writing(self) -> None:
        self._writable = True
        self.stalled_since = None
        self._pump()

    def _become_ready(self) -> None:
        self._ready = True
        self._on_ready(self)

    def _take(self, data: bytes) -> None:
        reader = self._reader
        view = memoryview(data)
        start = 0
        while start < len(view) and not self.closed:
            if reader.target is None:
                if reader.muted:
                    # Reading was paused too late for these bytes: they wait with the others.
                    reader.append_backlog(view[start:])
                    assert self._transport is not None
                    self._transport.pause_reading()
                    return
                reader.feed(view, start, len(view))
                return
            count = min(len(reader.target), len(view) - start)
            reader.target[:count] = view[start : start + count]
            start += count
            reader.filled(count)

    def _resume(self) -> None:
        if self.closed:
            return
        try:
            self._reader.resume()
        except FrameSizeError as error:
            self.close(str(error))
            return
        if not self._reader.muted and self._transport is not None:
            self._transport.resume_reading()

    def _pump(self) -> None:
        """Write while the peer takes it."""
        transport = self._transport
        if transport is None or self.closed:
            return
        while self._chunks and self._writable:
            pieces: list[bytes | bytearray | memoryview] = []
            size = 0
            try:
                while self._chunks and size < _PIECE_BYTES:
                    pieces.append(self._next_piece())
                    size += len(pieces[-1])
            except OSError as error:
                self.close(f"sending failed: {error}")
                return
            self.queued_bytes -= size
            self.bytes_out += size
            transport.write(b"".join(pieces))
        if self._closing is not None and not self._chunks:
            reason, self._closing = self._closing, None
            self._finish_close(reason)

    def _next_piece(self) -> bytes | bytearray | memoryview:
        chunk = self._chunks.popleft()
        if not isinstance(chunk, FileSlice):
            return chunk
        size = min(chunk.size, _PIECE_BYTES)
        if size < chunk.size:
            rest = FileSlice(chunk.fd, chunk.position + size, chunk.size - size, chunk.owner)
            self._chunks.appendleft(rest)
        data = FileSlice(chunk.fd, chunk.position, size, chunk.owner).read()
        if len(data) != size:
            raise ShortFileError(f"file ended {size - len(data)} bytes before its slice")
        return data

    def _finish_close(self, reason: str) -> None:
        """asyncio sends what it holds before it closes."""
        assert self._transport is not None
        self._transport.close()
        self.closed = True
        self._reader.discard()
        on_closed, self.on_closed = self.on_closed, _unset
        on_closed(reason)
