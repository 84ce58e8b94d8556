"""File slices that are not in the page cache: detected without waiting, read by a thread, then sent.

`preadv` with RWF_NOWAIT returns at once whether a page is cached; the kernel may begin to read a page that is not, and
a quick disk may have it in memory before the call returns. It is called for the first and the last page of the
bytes that a send takes next. One of two threads reads the slice into the page cache (the read itself needs no
interpreter), and the connection continues afterwards. A file system without support for it (tmpfs) is always in memory.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from signalbox.common.file_slice import FileSlice

WINDOW_BYTES = 262_144
_READAHEAD_BYTES = 131_072  # what the kernel usually reads ahead: within it, one page stands for all
_THREADS = 2


class PageCache:
    """One per data loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._byte = [bytearray(1)]
        self._reports_residency = True
        self.read_flags = (
            os.RWF_NOWAIT
        )  # for `preadv` of what is read in one call: BlockingIOError if it is not in memory
        self._threads: ThreadPoolExecutor | None = None
        self.reads = 0

    def is_resident(self, piece: FileSlice) -> bool:
        """Whether the next window of `piece` can be sent without waiting for a disk."""
        if not self._reports_residency:
            return True
        last = piece.position + min(piece.size, WINDOW_BYTES) - 1
        try:
            os.preadv(piece.fd, self._byte, piece.position, os.RWF_NOWAIT)
            if last - piece.position >= _READAHEAD_BYTES:
                os.preadv(piece.fd, self._byte, last, os.RWF_NOWAIT)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                self._reports_residency, self.read_flags = False, 0
        return True  # the send reports any other fault of the file

    def prefetch(self, piece: FileSlice, done: Callable[[], None]) -> None:
        """Read the next window of `piece` into the page cache; `done` is called on the loop."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="cold-reads")
        self.reads += 1
        size = min(piece.size, WINDOW_BYTES)
        # The thread holds the slice and its owner until then: the file must not be closed during the read.
        future = self._threads.submit(_read, piece, size)
        future.add_done_callback(lambda _: self._call_on_loop(done))

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _call_on_loop(self, done: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(done)


def _read(piece: FileSlice, size: int) -> None:
    try:
        os.preadv(piece.fd, [bytearray(size)], piece.position)
    except OSError:
        return  # the send fails in the same way and reports it
