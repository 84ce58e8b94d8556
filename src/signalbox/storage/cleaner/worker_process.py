"""A `CleaningWorker` in a process of its own (decision 0045): the loop of the broker keeps its processor time, and the
memory of the map goes back to the system when the process ends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from signalbox import __version__
from signalbox.storage.cleaner.batch_retention import RetentionRules
from signalbox.storage.cleaner.worker_messages import OTHER_VERSION_STATUS, receive, send
from signalbox.storage.cleaner.worker_port import (
    CleanedTarget,
    Mapped,
    Rewritten,
    SegmentSource,
    WorkerLimits,
    WorkerLost,
    WorkerOutdated,
)
from signalbox.storage.segments.transaction_index import AbortedTransaction

_SHOWN_CHARACTERS = 300
_LONGEST_END_S = 5.0


class ProcessWorker:
    """The process starts with a round, if it is not running, and ends with `close`, or with this process. One thread
    calls it at a time; `kill` may be called from another."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None
        self._is_killed = False

    def begin(self, limits: WorkerLimits) -> None:
        """Starts the process if there is none."""
        if self._is_killed:
            self._end()
        if self._process is None:
            self._start()
        self._call("begin", limits)

    def map_segment(self, source: SegmentSource) -> Mapped:
        mapped: Mapped = self._call("map_segment", source)
        return mapped

    def add_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        self._call("add_aborted", aborted)

    def begin_rewriting(self) -> None:
        self._call("begin_rewriting")

    def add_last_records(self, last_records: Mapping[int, tuple[int, int]]) -> None:
        self._call("add_last_records", last_records)

    def rewrite(self, sources: Sequence[SegmentSource], target: CleanedTarget, rules: RetentionRules) -> Rewritten:
        rewritten: Rewritten = self._call("rewrite", list(sources), target, rules)
        return rewritten

    def close(self) -> None:
        """Kills the process: what it was writing is removed by the round, or by the next start."""
        self._end()

    def kill(self) -> None:
        """The call ends at once, even if the process waits for its disk and cannot end yet."""
        process, connection = self._process, self._connection
        if process is None or connection is None:
            return
        self._is_killed = True
        process.kill()
        with suppress(OSError):  # closed meanwhile
            connection.shutdown(socket.SHUT_RDWR)

    def _end(self) -> str:
        """Releases what belongs to a process that has ended or is about to; returns its error output."""
        process, connection = self._process, self._connection
        self._process = self._connection = None
        self._is_killed = False
        if process is None or connection is None:
            return ""
        connection.close()
        process.kill()
        try:
            _, errors = process.communicate(timeout=_LONGEST_END_S)
        except subprocess.TimeoutExpired:
            return "killed, it ends when its disk responds"
        return errors.decode(errors="replace").strip()[-_SHOWN_CHARACTERS:]

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        # `-m` alone would put the working directory first: others may write to it. The modules are the broker's own.
        command = [
            sys.executable,
            "-P",
            "-m",
            "signalbox.storage.cleaner.worker_main",
            str(theirs.fileno()),
            __version__,
        ]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with theirs:
            # It must not share the broker's output, on which a supervisor may wait, or which is locked.
            self._process = subprocess.Popen(
                command,
                env=environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        self._connection = ours

    def _call(self, method: str, *arguments: Any) -> Any:
        connection = self._connection
        if connection is None:
            raise WorkerLost("the cleaner process is not running")
        try:
            send(connection, (method, arguments), list(_files_of(arguments)))
            answer, _ = receive(connection)
        except (EOFError, OSError) as error:
            process, reason = self._process, self._end()
            if process is not None and process.returncode == OTHER_VERSION_STATUS:
                raise WorkerOutdated(f"another version than {__version__} is installed: restart this broker") from None
            raise WorkerLost(f"the cleaner process has ended ({error!r}): {reason}") from None
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
            fds += (argument.log_fd, argument.index_fd, argument.time_index_fd, argument.transaction_index_fd)
        elif isinstance(argument, list):
            fds += _files_of(argument)
    return fds
