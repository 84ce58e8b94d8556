"""Limits log lines: those that a peer can cause, and those of an operation that fails again and again.

A peer that sends a million malformed requests must neither fill the log nor hide the lines of other peers. So every
source has lines of its own, one or a few per kind in an interval, and the first line after an interval says how many
were suppressed. At most MAX_SOURCES windows are kept at once; the sources beyond that share one line of each kind.

The node's log handler limits the lines of all loggers (`ClientLineLimits`). `with LogSource(client address):` surrounds
code that handles a client's request; lines that it logs below ERROR belong to that source. A task that is created there
inherits the source from asyncio, but only until the `with` block ends: what the task does later is the node's own work.
`extra=CLIENT_CAUSED` marks the few ERROR lines that a client can cause at will; all other ERROR lines are about the
node and are never limited.

Of an operation that is retried the transitions are logged: when it begins to fail, when the reason changes, when it
recovers. There is no line for each try.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass

INTERVAL_S = 10.0
MAX_SOURCES = 50
_OTHERS = "other sources"
LINES_PER_INTERVAL = 20  # of one message that one client causes, whatever logs it
_CLIENT_CAUSED = "client_caused"
CLIENT_CAUSED = {_CLIENT_CAUSED: True}


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


class LogSource:
    """A context manager. Blocks are not nested, so that its end restores nothing."""

    __slots__ = ("address",)

    def __init__(self, address: str) -> None:
        self.address = address

    def __enter__(self) -> None:
        _CURRENT.set(self)

    def __exit__(self, *_: object) -> None:
        self.address = ""


_CURRENT: ContextVar[LogSource] = ContextVar("log_source", default=LogSource(""))  # noqa: B039 (it is never changed)


def current_source() -> str:
    """The client address of the request that is being handled; empty if there is none."""
    return _CURRENT.get().address


class ClientLineLimits(logging.Filter):
    """`monotonic` returns seconds. The number of limiters is bounded by the number of messages in the source."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._limiters: dict[tuple[str, str], LogLimiter] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """False: the line is suppressed. The number of suppressed lines is added to the message."""
        source = current_source()
        if _CLIENT_CAUSED not in record.__dict__ and (not source or record.levelno >= logging.ERROR):
            return True
        message = record.name, str(record.msg)
        limiter = self._limiters.get(message)
        if limiter is None:
            limiter = self._limiters[message] = LogLimiter(self._monotonic, LINES_PER_INTERVAL)
        suppressed = limiter.admit("", source)
        if suppressed:
            record.msg = f"{record.msg}{suppressed}"
        return suppressed is not None


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
