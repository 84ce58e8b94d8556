"""A rate that may be unlimited and may change while work waits for it: of replication and of moves between log
directories (KIP-73, KIP-113)."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.token_bucket import TokenBucket

UNLIMITED = 2**63 - 1
_RECHECK_MS = 500.0  # the rate may change meanwhile
_MIN_WAIT_MS = 10.0


class RateLimit:
    """Unlimited until `set_rate`."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._bucket: TokenBucket | None = None

    @property
    def is_set(self) -> bool:
        return self._bucket is not None

    def set_rate(self, bytes_per_second: int, seconds: float) -> None:
        """Set the rate; a burst of `seconds` at that rate is allowed."""
        burst, now = bytes_per_second * seconds, self._monotonic()
        if bytes_per_second >= UNLIMITED:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = TokenBucket(bytes_per_second, burst, now)
        elif self._bucket.rate != bytes_per_second:
            self._bucket.change(bytes_per_second, burst, now)

    def record(self, size_bytes: int) -> None:
        """Count bytes; more than the rate allows are a debt."""
        if self._bucket is not None:
            self._bucket.take(size_bytes, self._monotonic())

    def in_debt(self) -> bool:
        """Whether more bytes were counted than the rate allows by now."""
        return self._bucket is not None and self._bucket.in_debt(self._monotonic())

    def wait_ms(self) -> float:
        """The time until the next check."""
        bucket = self._bucket
        if bucket is None or bucket.rate <= 0:
            return _RECHECK_MS
        return min(max(float(bucket.wait_ms(self._monotonic())), _MIN_WAIT_MS), _RECHECK_MS)
