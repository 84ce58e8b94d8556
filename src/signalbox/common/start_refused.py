"""The error of a start that must not go on, carrying what a user has to change.

Every room raises it where it meets the trouble, so that the program's end is one message with the key in it. It is
for what only the machine can tell (a port, a folder, somebody else's data); what the text of a configuration tells
is collected as `ConfigFault`s before anything is started.
"""

from __future__ import annotations

from collections.abc import Sequence

from signalbox.common.config_table import ConfigFault


class StartRefused(RuntimeError):
    """This start cannot go on: every fault, one a line. `faults` names the keys, their values and the remedies."""

    def __init__(self, faults: Sequence[ConfigFault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


def reason(error: Exception) -> str:
    """What went wrong, for a fault's `problem`: the system's words without a number, after the file if it named one."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
