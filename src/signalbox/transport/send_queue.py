"""What a connection still has to send: bytes, memoryviews and file slices, in order, with a bound.

A flush uses as few system calls as the content allows: below 64 KB one joined `send`, above it `sendmsg`. A file slice
of up to 32 KB is read into the loop's staging memory next to its header and is sent with the same `send`; larger ones
are sent with `sendfile` (measured: below that size its two or three calls cost more). If a file ends before its slice,
ShortFileError is raised: the frame cannot be completed, so the connection must be closed. A slice that is not in the
page cache ends a flush: it is then in `uncached`, and the owner has it read before the next flush.
"""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Sequence
from itertools import islice

from signalbox.common.file_slice import FileSlice
from signalbox.common.limits import JOINED_SEND_BYTES, SENDFILE_FROM_BYTES
from signalbox.transport.frame_channel import Chunk
from signalbox.transport.page_cache import WINDOW_BYTES, PageCache

_MAX_CHUNKS_BEFORE_SLICE = 8  # chunks of a response that may precede its first slice
_MAX_PIECES = 256  # pieces in one sendmsg; the kernel's own limit is 1024


class ShortFileError(OSError):
    """A file ended inside a slice that is part of a frame."""


def read_slice(piece: FileSlice, size_bytes: int) -> bytes:
    """The first `size_bytes` of a slice. ShortFileError if the file has fewer."""
    data = os.pread(piece.fd, size_bytes, piece.position)
    if len(data) != size_bytes:
        raise ShortFileError(f"file ended {size_bytes - len(data)} bytes before its slice")
    return data


class SendQueue:
    """Chunks for one socket. `staging` is shared by all queues of a loop and used only inside `flush`."""

    __slots__ = ("_chunks", "_page_cache", "_prefetched", "_staging", "size_bytes", "uncached")

    def __init__(self, staging: memoryview, page_cache: PageCache) -> None:
        self._chunks: deque[Chunk] = deque()
        self._staging = staging
        self._page_cache = page_cache
        self._prefetched: FileSlice | None = None
        self.uncached: FileSlice | None = None
        self.size_bytes = 0

    def append(self, chunk: Chunk, size_bytes: int) -> None:
        self._chunks.append(chunk)
        self.size_bytes += size_bytes

    def extend(self, chunks: Sequence[Chunk], size_bytes: int) -> None:
        self._chunks.extend(chunks)
        self.size_bytes += size_bytes

    def clear(self) -> None:
        self._chunks.clear()
        self.size_bytes = 0

    def take(self, max_bytes: int) -> bytes:
        """Remove the first chunks, about `max_bytes` of them, and return them as bytes: for encryption.
        ShortFileError."""
        pieces: list[bytes | bytearray | memoryview] = []
        total = 0
        chunks = self._chunks
        while chunks and total < max_bytes:
            first = chunks.popleft()
            size = len(first)
            if isinstance(first, FileSlice):
                size_taken = min(size, max_bytes)
                if size_taken < size:
                    chunks.appendleft(FileSlice(first.fd, first.position + size_taken, size - size_taken, first.owner))
                first, size = read_slice(first, size_taken), size_taken
            pieces.append(first)
            total += size
        self.size_bytes -= total
        return b"".join(pieces)

    def prefetched(self) -> None:
        """The slice in `uncached` was read: the next flush sends it, even if its pages were evicted meanwhile."""
        self._prefetched, self.uncached = self.uncached, None

    def next_uncached(self) -> FileSlice | None:
        """For encryption: the first slice that `take` would read, if it is not in memory; it is then in `uncached`."""
        for chunk in islice(self._chunks, _MAX_CHUNKS_BEFORE_SLICE):
            if isinstance(chunk, FileSlice):
                return chunk if self._is_uncached(chunk) else None
        return None

    def _is_uncached(self, piece: FileSlice) -> bool:
        if piece is self._prefetched or self._page_cache.is_resident(piece):
            return False
        self.uncached = piece
        return True

    def flush(self, sock: socket.socket) -> int:
        """Send until the queue is empty or the socket is full; returns the number of bytes sent.

        OSError of the socket, except "would block", which ends the flush normally.
        """
        chunks = self._chunks
        sent_before = self.size_bytes
        try:
            while chunks:
                first = chunks[0]
                if len(chunks) == 1 and type(first) is bytes:
                    count = sock.send(first)
                    if count == len(first):
                        chunks.clear()
                    else:
                        chunks[0] = memoryview(first)[count:]
                    self.size_bytes -= count
                    continue
                if type(first) is FileSlice and self._is_uncached(first):
                    break
                uses_sendfile = type(first) is FileSlice and first.size > SENDFILE_FROM_BYTES
                if not (self._send_file(sock, first) if uses_sendfile else self._send_run(sock)):  # type: ignore[arg-type]
                    break
        except (BlockingIOError, InterruptedError):
            pass
        return sent_before - self.size_bytes

    def _send_file(self, sock: socket.socket, piece: FileSlice) -> bool:
        size = min(piece.size, WINDOW_BYTES) if piece is self._prefetched else piece.size
        count = os.sendfile(sock.fileno(), piece.fd, piece.position, size)
        if count == 0:
            raise ShortFileError(f"file ended {piece.size} bytes before its slice")
        self.size_bytes -= count
        if count == piece.size:
            self._chunks.popleft()
            return True
        # The slice belongs to the response, so it is not changed; a shorter one replaces it.
        self._chunks[0] = FileSlice(piece.fd, piece.position + count, piece.size - count, piece.owner)
        return False

    def _send_run(self, sock: socket.socket) -> bool:
        """Send the chunks before the next large file slice with one call; False if the socket is full."""
        pieces, total, has_file = self._next_run()
        more = socket.MSG_MORE if len(pieces) < len(self._chunks) else 0
        if has_file:
            count = sock.send(self._stage(pieces, total), more)
        elif total < JOINED_SEND_BYTES or len(pieces) == 1:
            count = sock.send(b"".join(pieces) if len(pieces) > 1 else pieces[0], more)  # type: ignore[arg-type]
        else:
            count = sock.sendmsg(pieces, (), more)  # type: ignore[arg-type]
        self.skip(count)
        return count == total

    def _next_run(self) -> tuple[list[Chunk], int, bool]:
        pieces: list[Chunk] = []
        total = 0
        has_file = False
        for chunk in islice(self._chunks, _MAX_PIECES):
            size = len(chunk)
            if type(chunk) is FileSlice:
                if size > SENDFILE_FROM_BYTES or (pieces and total + size > len(self._staging)):
                    break
                if not has_file and total > JOINED_SEND_BYTES:
                    break  # large plain chunks are sent without a copy; the file slice begins the next run
                if pieces and not self._page_cache.is_resident(chunk):
                    break  # the chunks before it are sent first
                has_file = True
            elif has_file and total + size > len(self._staging):
                break
            pieces.append(chunk)
            total += size
        return pieces, total, has_file

    def _stage(self, pieces: list[Chunk], total: int) -> memoryview:
        staging = self._staging
        position = 0
        for piece in pieces:
            size = len(piece)
            if type(piece) is FileSlice:
                filled = os.preadv(piece.fd, [staging[position : position + size]], piece.position)
                if filled != size:
                    raise ShortFileError(f"file ended {size - filled} bytes before its slice")
            else:
                staging[position : position + size] = piece  # type: ignore[assignment]
            position += size
        return staging[:total]

    def skip(self, count: int) -> None:
        """Remove the first `count` bytes; a chunk that was sent in part is replaced by its rest."""
        chunks = self._chunks
        self.size_bytes -= count
        while count:
            first = chunks[0]
            size = len(first)
            if size > count:
                if type(first) is FileSlice:
                    chunks[0] = FileSlice(first.fd, first.position + count, size - count, first.owner)
                else:
                    chunks[0] = memoryview(first)[count:]  # type: ignore[arg-type]
                return
            chunks.popleft()
            count -= size
        while chunks and not len(chunks[0]):
            chunks.popleft()
