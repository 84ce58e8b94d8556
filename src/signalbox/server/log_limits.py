"""Limits the log lines that clients can cause, for all loggers: a filter of the node's log handler.

A line is limited if it is logged while a client's request is handled (`common/log_source.py`) and is below ERROR, or if
it is marked with `extra=CLIENT_CAUSED`. Of each message (logger and text without arguments) a source may cause
LINES_PER_INTERVAL lines in an interval; the first line after that says how many were suppressed. Lines about the node
itself are never limited.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from signalbox.common.log_limiter import LogLimiter
from signalbox.common.log_source import current_source, is_client_caused

LINES_PER_INTERVAL = 20


class ClientLineLimits(logging.Filter):
    """`monotonic` returns seconds. The number of limiters is bounded by the number of messages in the source."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._limiters: dict[tuple[str, str], LogLimiter] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """False: the line is suppressed. The number of suppressed lines is added to the message."""
        source = current_source()
        if not is_client_caused(record.__dict__) and (not source or record.levelno >= logging.ERROR):
            return True
        message = record.name, str(record.msg)
        limiter = self._limiters.get(message)
        if limiter is None:
            limiter = self._limiters[message] = LogLimiter(self._monotonic, LINES_PER_INTERVAL)
        suppressed = limiter.admit("", source)
        if suppressed:
            record.msg = f"{record.msg}{suppressed}"
        return suppressed is not None
