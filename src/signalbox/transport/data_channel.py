"""A connection in the data loop: plain TCP, the receiving half on top of `channel_output.py`.

`tls_channel.py` adds TLS on top of it. Reads go into the loop's shared buffer, or directly into the buffer of a frame
that is incomplete. After a large frame the channel reads the next size prefix alone, so that a large frame behind it is
received into its own buffer without a copy. A muted channel with pending data gives up its read interest, because the
level-triggered set would report it again and again.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from struct import Struct

from signalbox.common.limits import MAX_FRAME_SIZE_BYTES
from signalbox.transport.buffer_pool import PooledBuffer
from signalbox.transport.channel_output import LARGE_FRAME_BYTES, ChannelOutput
from signalbox.transport.data_loop import HANGUP, READ, WRITE, DataLoop
from signalbox.transport.frame_channel import PEER_CLOSED, unset
from signalbox.transport.frame_reader import SIZE_BYTES, FrameReader, FrameSizeError
from signalbox.transport.socket_address import address_of

_read_size = Struct(">i").unpack_from
log = logging.getLogger("signalbox.transport")

_MAX_READ_BYTES = 524_288  # one read is part of one slice


class DataChannel(ChannelOutput):
    """See `FrameChannel` for the interface."""

    __slots__ = (
        "_arrived_bytes", "_recv_into", "_size_prefix", "_view", "bytes_in", "local_address",
    )  # fmt: skip

    def __init__(self, loop: DataLoop, sock: socket.socket, max_frame_bytes: int = MAX_FRAME_SIZE_BYTES) -> None:
        """`sock` is connected and non-blocking; it belongs to the channel from now on."""
        super().__init__(loop, sock, FrameReader(loop.pool, unset, max_frame_bytes, loop.overdue))
        self.local_address = address_of(sock.getsockname())
        self._size_prefix = memoryview(bytearray(SIZE_BYTES))
        self._view = loop.receive_view
        self._recv_into = sock.recv_into
        self._arrived_bytes = 0  # bytes at the end of a large frame that has not been handled yet
        self.bytes_in = 0

    def start(self) -> None:
        """Begin to read. The callbacks must be set; `on_ready` is called when frames can be sent and received."""
        self._loop.register(self._sock, self, self._interest, self.traffic_class)
        self.on_ready()

    # -- called by the owner

    @property
    def peer_certificate(self) -> bytes | None:
        return None

    def fileno(self) -> int:
        return self._sock.fileno()

    def release_buffer(self, buffer: PooledBuffer) -> None:
        self._loop.pool.release(buffer)

    def close(self, reason: str) -> None:
        if self.closed:
            return
        self.closed = True
        self._reader.discard()
        self._queue.clear()
        if not self._loop.closed:
            self._loop.unregister(self._sock)
        self._sock.close()
        self._notify_closed(reason)

    # -- called by the loop

    def on_events(self, events: int) -> None:
        reader = self._reader
        if events != READ or reader.muted or reader.target is not None or reader.prefix or self._expects_large:
            self._dispatch(events)
            return
        # Nearly all events are of this kind: no frame is incomplete, and exactly one complete frame has arrived.
        view = self._view
        try:
            count = self._recv_into(view)
        except OSError as error:
            self._receive_failed(error)
            return
        self.active_at = self._loop.now
        self.bytes_in += count
        if count >= LARGE_FRAME_BYTES:
            self._note_expected_size(count)  # the next frame gets its own buffer, and slices
        if count > SIZE_BYTES and _read_size(view)[0] == count - SIZE_BYTES < reader.max_frame_bytes:
            try:
                reader.on_frame(view[SIZE_BYTES:count], None)
            except Exception as error:
                self._fail(error)
        elif count:
            self._feed(view, count)
        else:
            self.close(PEER_CLOSED)

    def _dispatch(self, events: int) -> None:
        if events & WRITE:
            self.flush()
            if self.closed:
                return
        if events & ~WRITE:
            if not self._reader.muted:
                self._read()
            elif events & HANGUP:
                self.close(PEER_CLOSED)
            elif self._interest & READ:
                self._set_interest(self._interest & ~READ)

    def _read(self) -> None:
        reader, loop = self._reader, self._loop
        target = reader.target
        if self._arrived_bytes:
            return
        try:
            if target is not None:
                count = self._recv_into(target, _MAX_READ_BYTES if len(target) > _MAX_READ_BYTES else 0)
            elif self._expects_large and not reader.prefix:
                self._read_size_first()
                return
            else:
                count = self._recv_into(self._view)
        except OSError as error:
            self._receive_failed(error)
            return
        self.active_at = loop.now
        self.bytes_in += count
        if not count:
            self.close(PEER_CLOSED)
        elif target is None:
            self._feed(self._view, count)
        elif count == len(target) and reader.current_frame_bytes >= LARGE_FRAME_BYTES:
            self._deliver_in_slices(count)
        else:
            self._fill(count)

    def _deliver_in_slices(self, count: int) -> None:
        """`count` bytes complete a large frame: to check and store this much takes several slices."""
        self._note_expected_size(self._reader.current_frame_bytes)  # most of it may have come with one read
        self._arrived_bytes = count
        self._loop.run_in_slices(self, self.traffic_class, self._deliver_large_frame)

    def _deliver_large_frame(self) -> None:
        """Yields. Nothing is read meanwhile."""
        if not self.closed:
            self._fill(self._arrived_bytes)
        self._arrived_bytes = 0

    def _fill(self, count: int) -> None:
        try:
            self._reader.filled(count)
        except Exception as error:
            self._fail(error)

    def _feed(self, view: memoryview, count: int) -> None:
        """Deliver any number of frames and parts of frames; their responses are sent together at the end of the
        iteration."""
        reader = self._reader
        self._corked = True
        try:
            reader.feed(view, 0, count)
        except FrameSizeError as error:
            self._reject_frame(error)
        except Exception as error:
            self._fail(error)
        self._corked = False
        if reader.backlog is not None:
            self._defer_backlog()
        self._note_large_frame(count)

    def _note_large_frame(self, count: int = 0) -> None:
        """`count` bytes arrived with one read. So many are also as much work as a large frame."""
        largest = max(count, self._reader.current_frame_bytes)
        if largest >= LARGE_FRAME_BYTES:
            self._note_expected_size(largest)

    def _deliver_backlog(self) -> None:
        super()._deliver_backlog()
        self._note_large_frame()

    def _receive_failed(self, error: OSError) -> None:
        if not isinstance(error, BlockingIOError | InterruptedError):
            self.close(f"receiving failed: {error}")

    def _read_size_first(self) -> None:
        """After a large frame: read only the size of the next one, then receive that one into its own buffer."""
        reader, prefix = self._reader, self._size_prefix
        count = self._recv_into(prefix)
        if count < SIZE_BYTES:
            if not count:
                self.close(PEER_CLOSED)
            else:
                self._feed(prefix, count)
            return
        size = int.from_bytes(prefix, signed=True)
        self.bytes_in += count
        self._note_expected_size(size)
        try:
            reader.expect(size)
        except FrameSizeError as error:
            self._reject_frame(error)
            return
        except Exception as error:
            self._fail(error)
            return
        if reader.target is not None:
            self._read()

    def _run_soon(self, callback: Callable[[], None]) -> None:
        self._loop.run_as_member(self, self.traffic_class, callback)

    def _resume_reading(self) -> None:
        if not self._interest & READ:
            self._set_interest(self._interest | READ)
