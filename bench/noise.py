"""The processor time of other processes during a measurement: the figures of a busy machine must report it."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path

_TICKS_A_SECOND = 100
_IDLE, _IOWAIT, _GUEST = 3, 4, 8


def ended_children_seconds() -> float:
    """The processor time of this process's children that have ended and were waited for, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class OtherProcesses:
    """`mine` returns the processor seconds of all processes that are part of the measurement."""

    def __init__(self, mine: Callable[[], float]) -> None:
        self._mine = mine
        self._began, self._before = time.monotonic(), self._others()

    def percent_of_a_core(self) -> float:
        """The processor time of all other processes since this object was created, stolen time included."""
        return max(0.0, (self._others() - self._before) / (time.monotonic() - self._began) * 100)

    def _others(self) -> float:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
        ticks = sum(int(value) for at, value in enumerate(fields) if at not in (_IDLE, _IOWAIT) and at < _GUEST)
        return ticks / _TICKS_A_SECOND - self._mine() - time.process_time()
