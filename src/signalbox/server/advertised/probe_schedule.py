"""When each advertised address is probed next.

An address that was verified is due at the next interval. One that was not is due soon, and then after pauses that
double up to the interval: a fault that lasted for a minute is known to be over after another minute at most, and one
that lasts for days is probed as rarely as every other address. The pauses vary by a tenth, so that brokers that began
together do not stay together.

A change of a peer is seen by all brokers at once. Each waits for a time of its own within `SPREAD_S` for each broker of
the cluster, so that the broker that has changed gets a few connections a second and not one from each at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from signalbox.server.advertised.address_probes import AdvertisedAddress

FIRST_RETRY_S = 5.0
SPREAD_S = 0.3
_MAX_SPREAD_S = 10.0
_VARIATION = 0.1
_RESOLUTION_S = 0.01


@dataclass(slots=True)
class _Row:
    """`first_s`: when an address is due that was not probed yet; `probed_s`: when it was probed last."""

    first_s: float
    varied: float = 1.0
    probed_s: float | None = None
    failures: int = 0

    def due_s(self, interval_s: float) -> float:
        if self.probed_s is None:
            return self.first_s
        pause_s = FIRST_RETRY_S * 2.0 ** min(self.failures - 1, 60) if self.failures else interval_s
        return self.probed_s + min(pause_s, interval_s) * self.varied


class ProbeSchedule:
    """`now_s` is a monotonic clock, `random` returns numbers from 0 to 1."""

    def __init__(self, now_s: Callable[[], float], random: Callable[[], float]) -> None:
        self._now_s = now_s
        self._random = random
        self._rows: dict[AdvertisedAddress, _Row] = {}

    def follow(self, addresses: Iterable[AdvertisedAddress], brokers: int = 0) -> None:
        """These are the addresses from now on. New ones are due now, or with other `brokers` at a time of their own."""
        spread_s = min(brokers * SPREAD_S, _MAX_SPREAD_S)
        before, now_s = self._rows, self._now_s()
        self._rows = {row: before.get(row) or _Row(now_s + spread_s * self._random()) for row in addresses}

    def due(self, interval_s: float) -> list[AdvertisedAddress]:
        """The addresses to probe now, the longest due first."""
        now_s = self._now_s()
        rows = [(row.due_s(interval_s), address) for address, row in self._rows.items()]
        return [address for due_s, address in sorted(rows, key=lambda row: row[0]) if due_s <= now_s]

    def probed(self, address: AdvertisedAddress, *, verified: bool) -> None:
        """The probe of `address` has ended. An address that is not followed any more is ignored."""
        row = self._rows.get(address)
        if row is not None:
            row.probed_s = self._now_s()
            row.failures = 0 if verified else row.failures + 1
            row.varied = 1 + _VARIATION * (self._random() - 0.5)

    def seconds_to_next(self, interval_s: float) -> float:
        """Until an address is due, a hundredth at least; infinity if none is followed."""
        due_s = min((row.due_s(interval_s) for row in self._rows.values()), default=float("inf"))
        return max(due_s - self._now_s(), _RESOLUTION_S)
