"""Logs the transitions of a repeated operation: when it begins to fail, when the reason changes, when it recovers.
There is no line for each try."""

from __future__ import annotations

import logging


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
