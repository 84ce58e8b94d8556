"""Limits log lines: those that a peer can cause, and those of an operation that fails again and again.

A peer that sends a million malformed requests must neither fill the log nor hide the lines of other peers. So every
source has a line of its own, at most one per kind in an interval, and the first line after an interval says how many
were suppressed. At most MAX_SOURCES windows are kept at once; the sources beyond that share one line of each kind.

Of an operation that is retried the transitions are logged: when it begins to fail, when the reason changes, when it
recovers. There is no line for each try.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

INTERVAL_S = 10.0
MAX_SOURCES = 50
_OTHERS = "other sources"


@dataclass(slots=True)
class _Window:
    until: float
    suppressed: int = 0


class LogLimiter:
    """One per place in the code that logs. `monotonic` returns seconds."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
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


class TransitionLog:
    """For one operation that is retried. `recovery` is the line for its recovery; empty: no line."""

    def __init__(self, log: logging.Logger, recovery: str = "", level: int = logging.WARNING) -> None:
        self._log = log
        self._recovery = recovery
        self._level = level
        self._last_failure: str | None = None

    @property
    def is_failing(self) -> bool:
        """Whether the operation is failing."""
        return self._last_failure is not None

    def failed(self, line: str) -> None:
        """One more try has failed, for the reason in `line`."""
        if line != self._last_failure:
            self._last_failure = line
            self._log.log(self._level, "%s", line)

    def recovered(self) -> None:
        """A try succeeded."""
        if self._last_failure is not None and self._recovery:
            self._log.info("%s", self._recovery)
        self._last_failure = None
