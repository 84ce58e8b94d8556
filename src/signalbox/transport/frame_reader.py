"""From a byte stream to frames: 4 bytes of size, then that many bytes. No socket is used here.

Bytes arrive either in borrowed memory (`feed`: the loop's shared buffer, valid during the call) or in place, in the
buffer of a frame that has begun (`target` and `filled`). While `muted`, nothing is delivered: the rest of a read waits
in a backlog, and `resume` continues from it without another copy. The same happens with the rest when `is_overdue()`
returns true after a frame, because one read can hold ten thousand requests and other connections must not wait. A size
below zero or above `max_frame_bytes` raises FrameSizeError: the connection must be closed, since nothing after it can
be trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING

from signalbox.transport.buffer_pool import BufferPool, PooledBuffer
from signalbox.transport.tls.tls_failure import TLS_ON_PLAINTEXT
from signalbox.transport.tls.tls_records import is_tls

if TYPE_CHECKING:
    from signalbox.transport.frame_channel import FrameCallback

_read_size = Struct(">i").unpack_from
SIZE_BYTES = 4
MIN_RESPONSE_BYTES = 4  # the correlation id
_HTTP = int.from_bytes(b"HTTP")


def _never() -> bool:
    return False


class FrameSizeError(ValueError):
    """The peer announced a frame of a size that is not allowed, or it sent TLS. `fault` is the label under which it is
    counted. The text is for the peer of a listener; for a peer that should be a broker it is `response_problem`."""

    def __init__(self, size: int, max_bytes: int) -> None:
        self._size = size
        self._max_bytes = max_bytes
        if is_tls(size):
            self.fault = TLS_ON_PLAINTEXT
            super().__init__("the peer sent TLS to a listener without TLS: check its security.protocol, or the port")
        else:
            self.fault = "frame_size"
            super().__init__(f"frame of {size} bytes, at most {max_bytes} are allowed")

    @property
    def response_problem(self) -> str:
        """Why this is not the size of a response. A TLS alert read as a size is 350 MB and has crashed clients
        (misroute story 8)."""
        size = self._size
        if self.fault == TLS_ON_PLAINTEXT:
            return "the peer uses TLS on this port and this client does not: check security.protocol"
        if size == _HTTP:
            return "the peer uses HTTP: this is not a Kafka port"
        if size < MIN_RESPONSE_BYTES:
            return f"a frame of {size} bytes cannot hold a response"
        return f"a frame of {size} bytes is more than the {self._max_bytes} allowed here"


class FrameReader:
    """The state of one connection's incoming stream."""

    __slots__ = (
        "_backlog_memory",
        "_backlog_start",
        "_buffer",
        "_filled",
        "_frame",
        "_is_overdue",
        "_pool",
        "backlog",
        "max_frame_bytes",
        "muted",
        "on_frame",
        "prefix",
        "target",
    )  # fmt: skip

    def __init__(
        self, pool: BufferPool, on_frame: FrameCallback, max_frame_bytes: int, is_overdue: Callable[[], bool] = _never
    ) -> None:
        self._pool = pool
        self._is_overdue = is_overdue
        self.on_frame = on_frame
        self.max_frame_bytes = max_frame_bytes
        self.muted = False
        # The memory for the next bytes of the stream, if a frame has begun; None: the bytes go to `feed`.
        self.target: memoryview | None = None
        self._frame: memoryview | None = None
        self._buffer: PooledBuffer | None = None
        self._filled = 0
        # The first bytes of an incomplete size. If it is empty and there is no target, the stream is between two
        # frames.
        self.prefix = b""
        self._backlog_memory: bytearray | None = None  # the backlog's memory
        self.backlog: memoryview | None = None  # received bytes that wait for `resume`
        self._backlog_start = 0

    @property
    def mid_frame(self) -> bool:
        """Whether a frame has begun but is not complete."""
        return self.target is not None or self.prefix != b""

    @property
    def current_frame_bytes(self) -> int:
        """The size of the frame that has begun, 0 between two frames."""
        return len(self._frame) if self._frame is not None else 0

    def feed(self, view: memoryview, start: int, end: int) -> None:
        """Process `view[start:end]`; complete frames are delivered at once. Call it only if the reader is not muted and
        has neither a target nor a backlog."""
        if self.prefix:
            start = self._finish_prefix(view, start, end)
        while end - start >= SIZE_BYTES:
            (size,) = _read_size(view, start)
            if not 0 <= size <= self.max_frame_bytes:
                raise FrameSizeError(size, self.max_frame_bytes)
            start += SIZE_BYTES
            stop = start + size
            if stop > end:
                self._begin(size)
                assert self.target is not None
                self.target[: end - start] = view[start:end]
                self.filled(end - start)
                return
            self.on_frame(view[start:stop], None)
            start = stop
            if start < end and (self.muted or self._is_overdue()):
                self._keep_backlog(view, start, end)
                return
        if start < end:
            self.prefix = bytes(view[start:end])

    def expect(self, size: int) -> None:
        """The caller itself has read a size prefix: begin that frame in a buffer of its own."""
        if not 0 <= size <= self.max_frame_bytes:
            raise FrameSizeError(size, self.max_frame_bytes)
        self._begin(size)
        if size == 0:
            self.filled(0)

    def filled(self, count: int) -> None:
        """`count` bytes were written to the start of `target`; delivers the frame when it is complete."""
        frame, buffer = self._frame, self._buffer
        assert frame is not None
        assert buffer is not None
        self._filled += count
        if self._filled < len(frame):
            self.target = frame[self._filled :]
            return
        self.target = self._frame = self._buffer = None
        self.on_frame(frame, buffer)

    def resume(self) -> None:
        """Continue with the backlog after `muted` was set to False."""
        backlog = self.backlog
        if backlog is not None and not self.muted:
            self.backlog = None
            self.feed(backlog, self._backlog_start, len(backlog))
            if self.backlog is None:
                self._backlog_memory = None

    def append_backlog(self, view: memoryview) -> None:
        """Add bytes that arrived while muted: asyncio cannot return what it has read."""
        if self.backlog is None:
            self._keep_backlog(view, 0, len(view))
        else:
            self._backlog_memory = bytearray(self.backlog[self._backlog_start :]) + view
            self.backlog, self._backlog_start = memoryview(self._backlog_memory), 0

    def discard(self) -> None:
        """The connection is closed: return the buffer to the pool and deliver nothing more."""
        self.muted = True
        self._backlog_memory = self.backlog = self.target = self._frame = None
        self.prefix = b""
        if self._buffer is not None:
            self._pool.release(self._buffer)
            self._buffer = None

    def _begin(self, size: int) -> None:
        self._buffer = self._pool.acquire(size)
        self._frame = self.target = self._buffer.view[:size]
        self._filled = 0

    def _finish_prefix(self, view: memoryview, start: int, end: int) -> int:
        """Complete a size prefix that arrived in pieces. Then its frame gets a buffer of its own."""
        count = min(SIZE_BYTES - len(self.prefix), end - start)
        self.prefix += bytes(view[start : start + count])
        start += count
        if len(self.prefix) < SIZE_BYTES:
            return start
        (size,) = _read_size(self.prefix)
        self.prefix = b""
        self.expect(size)
        if self.target is not None:
            count = min(len(self.target), end - start)
            self.target[:count] = view[start : start + count]
            start += count
            self.filled(count)
        if self.muted and start < end:
            self._keep_backlog(view, start, end)
            return end
        return start

    def _keep_backlog(self, view: memoryview, start: int, end: int) -> None:
        if view.obj is self._backlog_memory:
            self.backlog, self._backlog_start = view, start
        else:
            self._backlog_memory = bytearray(view[start:end])
            self.backlog, self._backlog_start = memoryview(self._backlog_memory), 0
