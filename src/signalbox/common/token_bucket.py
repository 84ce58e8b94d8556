"""A token bucket, a rate with a burst: the measure of a quota (KIP-13, KIP-599)."""

from __future__ import annotations

from math import ceil

from signalbox.common.limits import MAX_THROTTLE_MS


class TokenBucket:
    """Gains `rate` tokens per second up to `burst`. `tokens` may go below zero: a debt that takes time to pay."""

    __slots__ = ("_filled_at", "burst", "rate", "tokens")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = burst
        self.tokens = burst
        self._filled_at = now

    def take(self, cost: float, now: float) -> None:
        """Take `cost` tokens, even if there are fewer."""
        self._fill(now)
        self.tokens -= cost

    def give_back(self, cost: float) -> None:
        """Return tokens that were taken but not used."""
        self.tokens = min(self.burst, self.tokens + cost)

    def in_debt(self, now: float) -> bool:
        """Whether more tokens were taken than there were."""
        self._fill(now)
        return self.tokens < 0

    def wait_ms(self, now: float) -> int:
        """The time until the debt is paid, in ms, at most MAX_THROTTLE_MS; 0 without a debt."""
        self._fill(now)
        if self.tokens >= 0:
            return 0
        if self.rate <= 0:
            return MAX_THROTTLE_MS
        return round(min(-self.tokens / self.rate * 1000, MAX_THROTTLE_MS))

    def wait_before_ms(self, cost: float, now: float) -> int:
        """The time until `cost` can be taken without a debt, in ms. A cost above the burst can be taken from a full
        bucket."""
        self._fill(now)
        missing = min(cost, self.burst) - self.tokens
        if self.rate <= 0:
            return MAX_THROTTLE_MS if cost > 0 or missing > 0 else 0
        return ceil(min(missing / self.rate * 1000, MAX_THROTTLE_MS)) if missing > 0 else 0

    def change(self, rate: float, burst: float, now: float) -> None:
        """Change the rate and the burst; tokens that were taken stay taken."""
        self._fill(now)
        self.rate = rate
        self.tokens = min(self.tokens, burst)
        self.burst = burst

    def _fill(self, now: float) -> None:
        self.tokens = min(self.burst, self.tokens + (now - self._filled_at) * self.rate)
        self._filled_at = now
