"""A connection on plain asyncio, outside the data loop, with the `FrameChannel` interface.

Inbound it is a connection of the control plane; `outbound_stream.py` is the outbound one. Responses here are small. A
large file slice (a fetch on a control plane that is not forced) is read piece by piece as
the peer accepts it, between asyncio's water marks.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence

from signalbox.common.file_slice import FileSlice
from signalbox.common.limits import MAX_FRAME_SIZE_BYTES, MAX_SEND_QUEUE_BYTES, PAUSE_READING_BYTES
from signalbox.transport.buffer_pool import BufferPool, PooledBuffer
from signalbox.transport.frame_channel import PEER_CLOSED, Chunk, unset
from signalbox.transport.frame_input import NO_ADDRESS, FrameInput
from signalbox.transport.frame_reader import FrameReader, FrameSizeError
from signalbox.transport.send_queue import read_slice
from signalbox.transport.socket_address import address_of
from signalbox.transport.tls.tls_failure import (
    RENEGOTIATED,
    TLS_RENEGOTIATION,
    broken_reason,
    failure_kind,
    failure_reason,
)
from signalbox.transport.tls.tls_session import TlsSession

_PIECE_BYTES = 262_144
_RECORD_BYTES = 16_384  # the most that one read of TLS returns


class StreamChannel(FrameInput, asyncio.Protocol):
    """`connected(channel)` is called when TCP is established; it sets the callbacks. `on_ready` follows after TLS."""

    def __init__(
        self,
        pool: BufferPool,
        connected: Callable[[StreamChannel], None],
        tls: TlsSession | None = None,
        max_frame_bytes: int = MAX_FRAME_SIZE_BYTES,
    ) -> None:
        self._pool = pool
        self._connected = connected
        self._tls = tls
        super().__init__(FrameReader(pool, unset, max_frame_bytes))
        self._chunks: deque[Chunk] = deque()
        self._transport: asyncio.Transport | None = None
        self._writable = True
        self.active_at = time.monotonic()
        self.stalled_since: float | None = None
        self.bytes_in = self.bytes_out = 0
        self.queued_bytes = 0
        self.busy_seconds = 0.0
        self.local_address = NO_ADDRESS

    # -- called by the owner

    @property
    def peer_certificate(self) -> bytes | None:
        return self._tls.peer_certificate if self._tls is not None else None

    def send_frame(self, chunks: Sequence[Chunk]) -> None:
        self._enqueue((sum(map(len, chunks)).to_bytes(4), *chunks))

    def send_framed(self, frame: bytes) -> None:
        self._enqueue((frame,))

    def send_slice(self, head: bytes, records: FileSlice, tail: bytes) -> None:
        self._enqueue((head, records, tail))

    def _enqueue(self, chunks: Sequence[Chunk]) -> None:
        if self.closed:
            return
        self._chunks.extend(chunks)
        self.queued_bytes += sum(map(len, chunks))
        if self.queued_bytes > MAX_SEND_QUEUE_BYTES:
            self.close(f"more than {MAX_SEND_QUEUE_BYTES} bytes wait for a peer that does not read")
            return
        self._pump()
        if self.queued_bytes > PAUSE_READING_BYTES:
            self.hold()

    def release_buffer(self, buffer: PooledBuffer) -> None:
        self._pool.release(buffer)

    def carry_replication(self) -> None:
        """A connection of asyncio has no share of the data loop's time."""

    def close(self, reason: str) -> None:
        if self.closed:
            return
        self.closed = True
        self._reader.discard()
        self._chunks.clear()
        self.queued_bytes = 0
        if self._transport is not None:
            self._transport.abort()
        self._notify_closed(reason)

    def close_after_flush(self, reason: str) -> None:
        if self.closed:
            return
        self._reader.muted = True
        self._closing = reason
        self._pump()

    # -- called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername")
        if peer is not None:  # None: the peer has reset the connection already
            self.peer_address = address_of(peer)
            self.local_address = address_of(transport.get_extra_info("sockname"))
        self._connected(self)
        if self.closed:
            return
        if self._tls is None:
            self.on_ready()
        else:
            self._tls.advance(asyncio.get_running_loop(), self._on_handshake_step)

    def data_received(self, data: bytes) -> None:
        if self.closed:
            return
        started = time.monotonic()
        self.active_at = started
        self.bytes_in += len(data)
        if self._tls is None:
            self._process(data)
        else:
            self._tls.receive(data)
            if self._tls.established:
                self._decrypt()
            else:
                self._tls.advance(asyncio.get_running_loop(), self._on_handshake_step)
        self.busy_seconds += time.monotonic() - started

    def connection_lost(self, exc: Exception | None) -> None:
        self.close(f"the connection was lost: {exc}" if exc else PEER_CLOSED)

    def pause_writing(self) -> None:
        self._writable = False
        self.stalled_since = time.monotonic()

    def resume_writing(self) -> None:
        self._writable = True
        self.stalled_since = None
        self.active_at = time.monotonic()  # a peer that reads a long response slowly is not idle
        self._pump()

    def _on_handshake_step(self, error: Exception | None) -> None:
        """A step of the TLS handshake is complete."""
        if self.closed:
            return
        assert self._tls is not None
        self._write(self._tls.outgoing())
        if error is not None:
            self.fault = failure_kind(error)
            self.close(failure_reason(error))
        elif self._tls.established:
            self.on_ready()
            self._decrypt()

    def _decrypt(self) -> None:
        assert self._tls is not None
        plaintext = memoryview(bytearray(_RECORD_BYTES))
        try:
            while not self.closed:
                count = self._tls.read_into(plaintext)
                if count < 0:
                    self.close(PEER_CLOSED)
                if count <= 0:
                    break
                self._process(bytes(plaintext[:count]))
        except OSError as error:
            self.close(broken_reason(error))
            return
        outgoing = self._tls.outgoing()
        self._write(outgoing)
        if outgoing and self._tls.outgoing_is_renegotiation:
            self.fault = TLS_RENEGOTIATION
            self.close(RENEGOTIATED)

    def _process(self, data: bytes) -> None:
        """Process plain bytes in any state of the reader."""
        reader = self._reader
        view = memoryview(data)
        start = 0
        try:
            while start < len(view) and not self.closed:
                if reader.target is None:
                    if reader.muted:
                        # Reading was paused too late for these bytes: they join the backlog.
                        reader.append_backlog(view[start:])
                        self._pause_reading()
                    else:
                        reader.feed(view, start, len(view))
                    return
                count = min(len(reader.target), len(view) - start)
                reader.target[:count] = view[start : start + count]
                start += count
                reader.filled(count)
        except FrameSizeError as error:
            self._reject_frame(error)

    def _pause_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def _write(self, data: bytes) -> None:
        if data and self._transport is not None and not self.closed:
            self.bytes_out += len(data)
            self._transport.write(data)

    def _run_soon(self, callback: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(callback)

    def _resume_reading(self) -> None:
        if self._transport is not None and not self.closed:
            self._transport.resume_reading()

    def _pump(self) -> None:
        """Write as long as the peer accepts bytes."""
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
            data = b"".join(pieces)
            if self._tls is not None:
                self._tls.write(data)
                data = self._tls.outgoing()
            self._write(data)
        if self._held and not self._chunks:
            self.release_hold()
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
        return read_slice(chunk, size)

    def _finish_close(self, reason: str) -> None:
        """asyncio sends what it has buffered before it closes."""
        assert self._transport is not None
        if self._tls is not None:
            self._tls.send_close_notify()
            self._write(self._tls.outgoing())
        self._transport.close()
        self.closed = True
        self._reader.discard()
        self._notify_closed(reason)
