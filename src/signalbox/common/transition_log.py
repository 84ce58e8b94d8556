"""Logs the transitions of a repeated operation: when it begins to fail, when the reason changes, when it recovers.
There is no line for each try."""

from __future__ import annotations

import logging


class TransitionLog:
    """For one operation that is tried again and again. `over` is the line for its recovery; empty: no line."""

    def __init__(self, log: logging.Logger, over: str = "", level: int = logging.WARNING) -> None:
        self._log = log
        self._over = over
        self._level = level
        self._said: str | None = None

    @property
    def lasts(self) -> bool:
        """Whether the operation is failing."""
        return self._said is not None

    def met(self, line: str) -> None:
        """One more try has failed."""
        if line != self._said:
            self._said = line
            self._log.log(self._level, "%s", line)

    def over(self) -> None:
        """A try succeeded."""
        if self._said is not None and self._over:
            self._log.info("%s", self._over)
        self._said = None
