"""Limits log lines that a peer can cause: one, or a few, per kind and source address in an interval.

A peer that sends a million malformed requests must neither fill the log nor hide the lines of other peers. So every
source has a line of its own, and the first line after an interval says how many were suppressed. At most MAX_SOURCES
windows are kept at once; the sources beyond that share one line of each kind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

INTERVAL_S = 10.0
MAX_SOURCES = 50
_OTHERS = "other sources"


@dataclass(slots=True)
class _Window:
    until: float
    admitted: int = 1
    suppressed: int = 0


class LogLimiter:
    """One per place in the code that logs. `monotonic` returns seconds; `lines` are admitted in an interval."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic, lines: int = 1) -> None:
        self._monotonic = monotonic
        self._lines = lines
        self._windows: dict[tuple[Hashable, str], _Window] = {}

    def admit(self, kind: Hashable, source: str) -> str | None:
        """The text for the end of the line: empty, or how many lines were suppressed before it. None: this line is
        suppressed."""
        now = self._monotonic()
        key = kind, source
        if key not in self._windows and len(self._windows) >= MAX_SOURCES:
            self._drop_ended(now)
            if len(self._windows) >= MAX_SOURCES:
                key = kind, _OTHERS
        window = self._windows.get(key)
        if window is not None and now < window.until:
            if window.admitted < self._lines:
                window.admitted += 1
                return ""
            window.suppressed += 1
            return None
        self._windows[key] = _Window(now + INTERVAL_S)
        if window is None or not window.suppressed:
            return ""
        whose = "this source" if key[1] == source else _OTHERS
        return f" (suppressed {window.suppressed} similar lines from {whose})"

    def _drop_ended(self, now: float) -> None:
        """Remove sources that have caused no line since their interval ended."""
        self._windows = {
            key: window for key, window in self._windows.items() if now < window.until or key[1] == _OTHERS
        }
