"""The error that stops the start of a program. It carries what a user has to change.

Every package raises it where the problem is found, so that the program ends with one message that names the key. It is
for problems that depend on the machine (a port, a folder, the data of another node). Problems in the text of a
configuration are collected as `ConfigFault`s before anything is started.
"""

from __future__ import annotations

from collections.abc import Sequence

from signalbox.common.config.config_table import ConfigFault


class StartError(RuntimeError):
    """The start cannot continue: every fault, one per line. `faults` has the keys, their values and the remedies."""

    def __init__(self, faults: Sequence[ConfigFault]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


def reason(error: Exception) -> str:
    """What went wrong, for `problem` of a fault: the system's error text without its number, after the file if it names
    one."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
