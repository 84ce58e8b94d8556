"""The pipe by which a queued request wakes kazoo's thread: one byte per request, written from the event loop.

kazoo uses a pair of sockets, in which a byte takes most of a kilobyte: after some 280 requests without a connection the
next one blocks its sender, here the event loop, until ZooKeeper is back. A pipe holds as many bytes as its size, and a
write to a full pipe fails instead of blocking.
"""

from __future__ import annotations

import contextlib
import fcntl
import os

SIZE_BYTES = 1 << 20  # Linux' limit for an unprivileged process; as many requests can wait


def wake_pipe() -> tuple[PipeEnd, PipeEnd]:
    """The read end and the write end."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(writing, False)
    with contextlib.suppress(PermissionError):  # the user's limit for all pipes is reached: 64 KiB then
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, SIZE_BYTES)
    return PipeEnd(reading), PipeEnd(writing)


class PipeEnd:
    """One end of the pipe, with the methods of a socket that kazoo calls."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor, for select."""
        return self._descriptor

    def send(self, data: bytes) -> int:
        """Write to the pipe; BlockingIOError when it is full."""
        return os.write(self._descriptor, data)

    def recv(self, size_bytes: int) -> bytes:
        """Read from the pipe; blocks until there is a byte."""
        return os.read(self._descriptor, size_bytes)

    def close(self) -> None:
        """Close this end; does nothing the second time."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
