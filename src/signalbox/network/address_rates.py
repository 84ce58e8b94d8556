"""How fast connections may come from one address: the quota `connection_creation_rate` (KIP-612).

Unlike the rates of listeners and of the broker it cannot leave newcomers in the kernel, where those of other addresses
wait in the same queue. Who comes too fast is accepted, neither heard nor counted, and closed after as long as it would
have had to wait.
"""

from __future__ import annotations

from signalbox.common.clock import Clock
from signalbox.common.limits import MAX_QUOTA_BUCKETS
from signalbox.network.connection_quotas import CreationRate


class AddressRates:
    """Rates by address as `address_of` writes it; the one of None is for all without their own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rates: dict[str | None, int] = {}
        self._buckets: dict[str, CreationRate] = {}

    def set(self, address: str | None, per_second: int | None) -> None:
        """Another rate from now on; None takes it away."""
        if per_second is None:
            self._rates.pop(address, None)
        else:
            self._rates[address] = per_second
        self._buckets.clear()

    @property
    def remembered(self) -> int:
        """Addresses that came a short time ago."""
        return len(self._buckets)

    def hold_seconds(self, address: str) -> float:
        """How much too early the newcomer is; 0 is in time, and counts."""
        rate = self._rates.get(address, self._rates.get(None)) if self._rates else None
        if rate is None:
            return 0.0
        now = self._clock.monotonic()
        bucket = self._buckets.get(address)
        if bucket is None:
            if len(self._buckets) >= MAX_QUOTA_BUCKETS:
                self._buckets = {key: each for key, each in self._buckets.items() if not each.is_full(now)}
            bucket = self._buckets[address] = CreationRate(rate)
        seconds = bucket.wait_seconds(now)
        if not seconds:
            bucket.count()
        return seconds
