"""A `CleaningWorker` in a process of its own (decision 0046): the loop of the broker keeps its processor time, and the
memory of the map goes back to the system when the process ends."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from signalbox.storage.cleaner.batch_retention import RetentionRules
from signalbox.storage.cleaner.worker_messages import receive, send
from signalbox.storage.cleaner.worker_port import (
    CleanedTarget,
    Mapped,
    Rewritten,
    SegmentSource,
    WorkerLimits,
    WorkerLost,
)

_SHOWN_CHARACTERS = 300


class ProcessWorker:
    """The process starts with a round, if it is not running, and ends with `close`, or with this process. One thread
    calls it at a time; `close` may be called from another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._call_lock = threading.Lock()

    def begin(self, limits: WorkerLimits) -> None:
        """Starts the process if there is none."""
        if self._process is None:
            self._start()
        self._call("begin", limits)

    def map_segment(self, source: SegmentSource) -> Mapped:
        mapped: Mapped = self._call("map_segment", source)
        return mapped

    def begin_scan(self) -> None:
        self._call("begin_scan")

    def scan_segment(self, source: SegmentSource) -> int | None:
        undecided_from: int | None = self._call("scan_segment", source)
        return undecided_from

    def rewrite(self, sources: Sequence[SegmentSource], target: CleanedTarget, rules: RetentionRules) -> Rewritten:
        rewritten: Rewritten = self._call("rewrite", list(sources), target, rules)
        return rewritten

    def close(self) -> None:
        """Kills the process: what it was writing is removed by the round, or by the next start."""
        process = self._process
        if process is None:
            return
        process.kill()
        with self._call_lock:  # a call that is running ends with the process
            self._end()

    def _end(self) -> str:
        """Releases what belongs to a process that has ended or is about to; returns its error output."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        if process is None or connection is None:
            return ""
        connection.close()
        process.kill()
        _, errors = process.communicate()
        return errors.decode(errors="replace").strip()[-_SHOWN_CHARACTERS:]

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "signalbox.storage.cleaner.worker_main", str(theirs.fileno())]
        with theirs:
            # It must not share the broker's output, on which a supervisor may wait, or which is locked.
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        self._connection = ours

    def _call(self, method: str, *arguments: Any) -> Any:
        with self._call_lock:
            if self._connection is None:
                raise WorkerLost("the cleaner process is not running")
            try:
                send(self._connection, (method, arguments), list(_files_of(arguments)))
                answer, _ = receive(self._connection)
            except (EOFError, OSError) as error:
                raise WorkerLost(f"the cleaner process has ended ({error!r}): {self._end()}") from None
        if isinstance(answer, Exception):
            raise answer
        return answer


def _files_of(arguments: Sequence[Any]) -> list[int]:
    """The open files that go with a message, in the order of the arguments."""
    fds: list[int] = []
    for argument in arguments:
        if isinstance(argument, SegmentSource):
            fds.append(argument.fd)
        elif isinstance(argument, CleanedTarget):
            fds += (argument.log_fd, argument.index_fd, argument.time_index_fd)
        elif isinstance(argument, list):
            fds += _files_of(argument)
    return fds
