"""The throttle of moves between the log directories of a broker: `replica.alter.log.dirs.io.max.bytes.per.second`
(KIP-113), for all moves together."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.token_bucket import TokenBucket

CallLater = Callable[[float, Callable[[], None]], object]  # delay in ms, function

UNLIMITED = 2**63 - 1
_RECHECK_MS = 500.0  # the rate may be raised, or the move cancelled, meanwhile
_MIN_WAIT_MS = 10.0


class MoveThrottle:
    """Without a rate, moves run as fast as they can. `call_later` must be set before a rate is."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self.call_later: CallLater = lambda delay_ms, resume: None
        self._bucket: TokenBucket | None = None

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
        """Count bytes that are copied."""
        if self._bucket is not None:
            self._bucket.take(size_bytes, self._monotonic())

    def delays(self, resume: Callable[[], None]) -> bool:
        """Whether the next bytes must wait; `resume` is then called later and must ask again."""
        bucket, now = self._bucket, self._monotonic()
        if bucket is None or not bucket.in_debt(now):
            return False
        self.call_later(min(max(float(bucket.wait_ms(now)), _MIN_WAIT_MS), _RECHECK_MS), resume)
        return True
