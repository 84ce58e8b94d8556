"""`signalbox up --detach`: the cluster is started by a child process that stays when the command has ended.

The child's standard output goes to the command's through a pipe until the cluster is ready, and then to a file, as does
its standard error. The last byte of the pipe says that the child is ready, and with which exit code the command ends;
without it the child has ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from signalbox.cli.connect import terminal_width
from signalbox.testing.locked_file import open_private

_READY = (b"\0", b"\1")  # by exit code


class Detached:
    """The child's side: `ready` lets the command end. `log` is a descriptor; `width` is that of the command's terminal;
    None: it has none."""

    def __init__(self, log: int, width: int | None) -> None:
        self._log = log
        self.width = width

    def ready(self, code: int = 0) -> None:
        """Write further output to the file, which is emptied; the command sees the end of the pipe, and ends with 0
        or 1."""
        sys.stdout.flush()
        sys.stderr.flush()
        os.ftruncate(self._log, 0)
        os.write(1, _READY[code])
        os.dup2(self._log, 1)
        os.dup2(self._log, 2)
        os.close(self._log)


def detach(log: Path) -> Detached:
    """Returns in a child process in a session of its own. The parent copies its standard output, and ends when the
    child is ready, or with the child's code. OSError before that if the file cannot be opened; it is not emptied yet,
    since another process may run the cluster and write to it."""
    descriptor = open_private(log, os.O_WRONLY | os.O_CREAT)
    sys.stdout.flush()
    sys.stderr.flush()
    width = terminal_width()
    readable, writable = os.pipe()
    child = os.fork()
    if child:
        os.close(writable)
        _wait(child, readable)
    os.setsid()
    os.close(readable)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(writable, 1)
    os.close(nothing)
    os.close(writable)
    return Detached(descriptor, width)


def _wait(child: int, readable: int) -> NoReturn:
    code: int | None = None
    while output := os.read(readable, 65_536):
        code = next((code for code, mark in enumerate(_READY) if output.endswith(mark)), None)
        sys.stdout.write((output if code is None else output[:-1]).decode(errors="replace"))
        sys.stdout.flush()
    if code is not None:
        os._exit(code)
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status))
