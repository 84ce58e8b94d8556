"""Starts `participant.py` and communicates with it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PARTICIPANT = Path(__file__).with_name("participant.py")


class OtherProcess:
    """A participant in another process."""

    def __init__(self, path: Path, session_timeout_ms: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PARTICIPANT), str(path), str(session_timeout_ms)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.read_line() == "ready"

    def read_line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, command: str) -> None:
        """Sends a command to it."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()


@contextmanager
def other_process(path: Path, session_timeout_ms: int = 6_000) -> Iterator[OtherProcess]:
    """A participant that is killed at the end of the block."""
    other = OtherProcess(path, session_timeout_ms)
    try:
        yield other
    finally:
        other.process.kill()
        other.process.communicate()
