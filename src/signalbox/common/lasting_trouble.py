"""A trouble that lasts is said when it begins, when its reason changes and when it is over; not for each try."""

from __future__ import annotations

import logging


class LastingTrouble:
    """Of one thing that is tried again and again. `over` is the line for its end; empty: nothing is said of it."""

    def __init__(self, log: logging.Logger, over: str = "", level: int = logging.WARNING) -> None:
        self._log = log
        self._over = over
        self._level = level
        self._said: str | None = None

    @property
    def lasts(self) -> bool:
        """Whether it was met and is not over yet."""
        return self._said is not None

    def met(self, line: str) -> None:
        """One more try was in vain."""
        if line != self._said:
            self._said = line
            self._log.log(self._level, "%s", line)

    def over(self) -> None:
        """A try succeeded."""
        if self._said is not None and self._over:
            self._log.info("%s", self._over)
        self._said = None
