"""The cleaner process: `python -m signalbox.storage.cleaner.worker_main FD VERSION`, started by the broker.

It does what the broker asks over the socket FD, has a lower priority than the broker, and ends with it. It ends at once
if its version is not the broker's VERSION: the program was replaced, and the broker not restarted yet.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from signalbox import __version__
from signalbox.storage.cleaner.cleaning_pass import CleaningPass, Throttle
from signalbox.storage.cleaner.worker_messages import OTHER_VERSION_STATUS, receive, send
from signalbox.storage.cleaner.worker_port import CleanedTarget, CleaningFault, SegmentSource, WorkerLost
from signalbox.storage.files.file_system import RealFileSystem

_NICENESS = 10  # the event loop of the broker comes first
_OOM_SCORE = "500"  # so does its memory: with too little of it, the kernel ends this process


_PARENT = os.getppid()


class _EndsWithParent(Throttle):
    """The process ends when its broker has ended, also within a long call."""

    def __init__(self, bytes_per_second: float) -> None:
        super().__init__(bytes_per_second, sleep=_sleep)

    def count(self, size_bytes: int) -> None:
        _end_without_parent()
        super().count(size_bytes)


def _sleep(seconds: float) -> None:
    _end_without_parent()
    time.sleep(seconds)


def _end_without_parent() -> None:
    if os.getppid() != _PARENT:
        os._exit(1)


def serve(connection: socket.socket) -> None:
    """Answers calls until the broker closes the connection."""
    worker = CleaningPass(RealFileSystem(), _EndsWithParent)
    while True:
        try:
            (method, arguments), fds = receive(connection)
        except (EOFError, OSError):
            return
        try:
            answer: Any = getattr(worker, method)(*_with_files(arguments, fds))
        except (OSError, CleaningFault) as error:
            answer = error
        except Exception as error:
            answer = WorkerLost(f"unexpected error in the cleaner process: {error!r}")  # may be out of memory
        finally:
            for fd in fds:
                os.close(fd)
        send(connection, answer)


def _with_files(arguments: tuple[Any, ...], fds: list[int]) -> list[Any]:
    """The arguments with the file descriptors of this process, which come in the same order."""
    coming = iter(fds)

    def filled(argument: Any) -> Any:
        if isinstance(argument, SegmentSource):
            return replace(argument, fd=next(coming))
        if isinstance(argument, CleanedTarget):
            return replace(
                argument,
                log_fd=next(coming),
                index_fd=next(coming),
                time_index_fd=next(coming),
                transaction_index_fd=next(coming),
            )
        if isinstance(argument, list):
            return [filled(element) for element in argument]
        return argument

    return [filled(argument) for argument in arguments]


if __name__ == "__main__":
    if sys.argv[2] != __version__:
        sys.exit(OTHER_VERSION_STATUS)
    os.nice(_NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
    gc.disable()  # nothing here has cycles, and the map is large
    serve(socket.socket(fileno=int(sys.argv[1])))
