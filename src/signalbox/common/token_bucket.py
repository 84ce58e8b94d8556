"""A rate with a burst: what a quota measures by (KIP-13, KIP-599)."""

from __future__ import annotations

from signalbox.common.limits import MAX_THROTTLE_MS


class TokenBucket:
    """Fills by `rate` a second up to `burst`; may go below zero, which is a debt to be waited for."""

    __slots__ = ("_filled_at", "burst", "rate", "tokens")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = burst
        self.tokens = burst
        self._filled_at = now

    def take(self, cost: float, now: float) -> None:
        """Take `cost`, whether or not there is so much."""
        self._fill(now)
        self.tokens -= cost

    def give_back(self, cost: float) -> None:
        """What was taken was not used after all."""
        self.tokens = min(self.burst, self.tokens + cost)

    def in_debt(self, now: float) -> bool:
        """Whether more was taken than there was."""
        self._fill(now)
        return self.tokens < 0

    def wait_ms(self, now: float) -> int:
        """How long until the debt is paid, in ms, MAX_THROTTLE_MS at most; 0 without one."""
        self._fill(now)
        if self.tokens >= 0:
            return 0
        if self.rate <= 0:
            return MAX_THROTTLE_MS
        return round(min(-self.tokens / self.rate * 1000, MAX_THROTTLE_MS))

    def change(self, rate: float, burst: float, now: float) -> None:
        """Another rate from now on; what was taken stays taken."""
        self._fill(now)
        self.rate = rate
        self.tokens = min(self.tokens, burst)
        self.burst = burst

    def _fill(self, now: float) -> None:
        self.tokens = min(self.burst, self.tokens + (now - self._filled_at) * self.rate)
        self._filled_at = now
