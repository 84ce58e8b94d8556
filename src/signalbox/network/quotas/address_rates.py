"""The connection creation rate of one client address: the quota `connection_creation_rate` (KIP-612).

Unlike the rates of listeners and of the broker it cannot leave new connections in the kernel, where those of other
addresses wait in the same queue. A connection above the rate is accepted, not read and not counted, and closed after
the time that it would have had to wait.
"""

from __future__ import annotations

from signalbox.common.clock import Clock
from signalbox.common.limits import MAX_QUOTA_BUCKETS
from signalbox.network.quotas.connection_quotas import CreationRate


class AddressRates:
    """Rates by address in the form of `address_of`; the rate of None is for all addresses without their own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rates: dict[str | None, int] = {}
        self._buckets: dict[str, CreationRate] = {}

    def set(self, address: str | None, per_second: int | None) -> None:
        """Set the rate of an address from now on; None removes it."""
        if per_second is None:
            self._rates.pop(address, None)
        else:
            self._rates[address] = per_second
        self._buckets.clear()

    @property
    def remembered(self) -> int:
        """The number of addresses with recent connections."""
        return len(self._buckets)

    def hold_seconds(self, address: str) -> float:
        """How many seconds too early a new connection is; 0 is in time, and then it is counted."""
        rate = self._rates.get(address, self._rates.get(None)) if self._rates else None
        if rate is None:
            return 0.0
        now = self._clock.monotonic()
        bucket = self._buckets.get(address)
        if bucket is None:
            if len(self._buckets) >= MAX_QUOTA_BUCKETS:
                self._buckets = {key: bucket for key, bucket in self._buckets.items() if not bucket.is_full(now)}
            bucket = self._buckets[address] = CreationRate(rate)
        seconds = bucket.wait_seconds(now)
        if not seconds:
            bucket.count()
        return seconds
