"""The process of a node: what `ProcessCluster` needs of it, and its start as a Python interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Protocol


class NodeProcess(Protocol):
    """A part of `subprocess.Popen`, and the wait for SIGSTOP. `stdout` is a pipe."""

    pid: int
    stdout: IO[bytes] | None

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, sig: int) -> None: ...

    def kill(self) -> None: ...

    def wait_stopped(self) -> None: ...


class StartNode(Protocol):
    """Starts `python -m <arguments>` in a process group of its own, with standard error in the open file."""

    def __call__(self, arguments: Sequence[str], log: IO[bytes]) -> NodeProcess: ...


class InterpreterProcess(subprocess.Popen[bytes]):
    """A child process; a Ctrl-C in the terminal does not reach it."""

    def __init__(self, arguments: Sequence[str], log: IO[bytes], *, new_session: bool = True) -> None:
        super().__init__(
            [sys.executable, "-m", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=new_session,
            process_group=None if new_session else 0,
        )

    def wait_stopped(self) -> None:
        """Returns when the process has stopped or ended: a signal takes a moment."""
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)


def start_interpreter(arguments: Sequence[str], log: IO[bytes]) -> NodeProcess:
    """A `StartNode`: a new interpreter, which imports the node's modules first."""
    return InterpreterProcess(arguments, log)


def run_to_the_end(work: Callable[[], None]) -> None:
    """Runs `work` in a thread, where an exception of a signal's handler cannot end it: handlers run in the main thread.
    That one waits, and raises the exception afterwards. Otherwise a signal that arrives while a process is started
    leaves one that no object holds: a start takes milliseconds, and the handler runs before its result is kept.
    """
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
