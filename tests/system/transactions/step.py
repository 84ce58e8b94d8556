"""What the loops in Python have in common: their arguments, and the step at which one waits to be killed."""

from __future__ import annotations

import sys
from dataclasses import dataclass

RECORDS_PER_TRANSACTION = 10


@dataclass(frozen=True, slots=True)
class LoopArguments:
    """`name` is the transactional id, the group and the static member. `pause_at` is "<step>:<transaction>", or "-"."""

    bootstrap: str
    source: str
    target: str
    name: str
    count: int
    pause_at: str

    @classmethod
    def from_command_line(cls) -> LoopArguments:
        bootstrap, source, target, name, count, pause_at = sys.argv[1:]
        return cls(bootstrap, source, target, name, int(count), pause_at)

    def reached(self, step: str, first_number: int) -> None:
        """Prints `paused` and waits for the end of the process if this is the step of `pause_at`."""
        if self.pause_at == f"{step}:{first_number // RECORDS_PER_TRANSACTION}":
            print("paused", flush=True)
            sys.stdin.read()


def transformed(number: int) -> bytes:
    """The value that is produced for a consumed number."""
    return str(number * 2).encode()
