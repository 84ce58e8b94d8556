"""The pipe by which a request that is queued wakes kazoo's thread: one byte each, written from the event loop.

kazoo takes a pair of sockets for it, in which a byte costs most of a kilobyte: some 280 requests without a connection,
and the next one holds whoever sends it, here the event loop, until ZooKeeper is back. A pipe holds as many bytes as its
size says, and when it is full it says so instead of waiting.
"""

from __future__ import annotations

import contextlib
import fcntl
import os

SIZE_BYTES = 1 << 20  # Linux' limit for a process without privileges; requests that can wait


def wake_pipe() -> tuple[PipeEnd, PipeEnd]:
    """The end that is read and the end that is written to."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(writing, False)
    with contextlib.suppress(PermissionError):  # the user's pipes together are too large: 64 KiB then
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SIZE_BYTES)
    return PipeEnd(reading), PipeEnd(writing)


class PipeEnd:
    """One end, with what kazoo calls of a socket."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """For select."""
        return self._descriptor

    def send(self, data: bytes) -> int:
        """BlockingIOError when the pipe is full."""
        return os.write(self._descriptor, data)

    def recv(self, size_bytes: int) -> bytes:
        """Waits for a byte."""
        return os.read(self._descriptor, size_bytes)

    def close(self) -> None:
        """Does nothing the second time."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
