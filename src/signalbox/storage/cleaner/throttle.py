"""Limits the rate of the cleaner's reads and writes (`log.cleaner.io.max.bytes.per.second`)."""

from __future__ import annotations

import time
from collections.abc import Callable


class Throttle:
    """The average rate since the throttle was created stays below `bytes_per_second`."""

    def __init__(
        self,
        bytes_per_second: float,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._now = now
        self._sleep = sleep
        self._started = now()
        self._bytes = 0

    def count(self, size_bytes: int) -> None:
        """Waits until `size_bytes` more are within the rate."""
        self._bytes += size_bytes
        ahead_s = self._started + self._bytes / self._bytes_per_second - self._now()
        if ahead_s > 0:
            self._sleep(ahead_s)
