"""Limits on the number of connections (of the broker, a listener, an address) and on their creation rate.

The acceptor calls `wait_seconds` before it accepts (creation rates, `max.connections` of listener and broker) and
`admit` afterwards (per address; a connection over the limit is closed at once). The listeners of brokers are protected
if there are others: broker-wide limits do not apply to them, since a storm of clients must not stop replication or the
controller. Their connections do not count for an address either, except on an inter-broker listener that clients need
too, because there is no other. Kafka protects only the inter-broker listener, and not from `max.connections.per.ip`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from signalbox.common.clock import Clock

_RETRY_SECONDS = 0.05
_RATE_WINDOW_SECONDS = 1.0
_UNLIMITED = 2**31 - 1


@dataclass(slots=True)
class CreationRate:
    """At most `per_second` new connections: a token bucket with the tokens of one second."""

    per_second: int
    _allowance: float = 0.0
    _updated_at: float = field(default=-1.0)

    def wait_seconds(self, now: float) -> float:
        """Seconds until one more connection may be accepted; 0 is now."""
        if self.per_second >= _UNLIMITED:
            return 0.0
        if self.per_second <= 0:
            return _RATE_WINDOW_SECONDS
        if self._updated_at < 0:
            self._allowance = float(self.per_second)
        else:
            earned = (now - self._updated_at) * self.per_second
            self._allowance = min(float(self.per_second), self._allowance + earned)
        self._updated_at = now
        if self._allowance >= 1:
            return 0.0
        return min(_RATE_WINDOW_SECONDS, (1 - self._allowance) / self.per_second)

    def count(self) -> None:
        self._allowance -= 1

    def is_full(self, now: float) -> bool:
        """Whether the bucket is full: a new one would behave the same."""
        return self._allowance + (now - self._updated_at) * self.per_second >= self.per_second


@dataclass(slots=True)
class ListenerLimits:
    """The limits of one listener."""

    max_connections: int = _UNLIMITED
    creation_rate: CreationRate = field(default_factory=lambda: CreationRate(_UNLIMITED))
    protected: bool = False
    any_per_ip: bool = False
    """True if only brokers need the listener: `max.connections.per.ip` does not apply to it."""


@dataclass(frozen=True, slots=True)
class BrokerLimits:
    """The broker-wide limits."""

    max_connections: int = _UNLIMITED
    max_creation_rate: int = _UNLIMITED
    max_per_ip: int = _UNLIMITED
    per_ip_overrides: Mapping[str, int] = field(default_factory=dict)

    def per_ip(self, address: str) -> int:
        """How many connections one address may have."""
        return self.per_ip_overrides.get(address, self.max_per_ip)


class ConnectionQuotas:
    """Counts open connections. Every `admit` that returns True is followed by one `release`. The argument of
    `descriptors_are_scarce` is whether the listener is protected."""

    def __init__(
        self,
        limits: BrokerLimits,
        listeners: Mapping[str, ListenerLimits],
        clock: Clock,
        descriptors_are_scarce: Callable[[bool], bool],
    ) -> None:
        self._descriptors_are_scarce = descriptors_are_scarce
        self._limits = limits
        self._listeners = listeners
        self._clock = clock
        self._rate = CreationRate(limits.max_creation_rate)
        self._by_listener: Counter[str] = Counter()
        self._by_address: dict[str, Counter[str]] = {}  # by listener: the protected ones can change
        self.total = 0

    def change(self, limits: BrokerLimits, listeners: Mapping[str, ListenerLimits]) -> None:
        """Replace the limits. Open connections stay open and counted; an unchanged creation rate keeps its bucket."""
        if limits.max_creation_rate != self._limits.max_creation_rate:
            self._rate = CreationRate(limits.max_creation_rate)
        for name, after in listeners.items():
            before = self._listeners.get(name)
            if before is not None and before.creation_rate.per_second == after.creation_rate.per_second:
                after.creation_rate = before.creation_rate
        # Open connections of a removed listener are still counted.
        self._limits, self._listeners = limits, {**self._listeners, **listeners}

    def wait_seconds(self, listener: str) -> float:
        """Seconds for which the acceptor of `listener` leaves new connections in the kernel; 0 is not at all."""
        limits = self._listeners[listener]
        now = self._clock.monotonic()
        if self._by_listener[listener] >= limits.max_connections:
            return _RETRY_SECONDS
        wait = limits.creation_rate.wait_seconds(now)
        if self._descriptors_are_scarce(limits.protected):
            return max(wait, _RETRY_SECONDS)
        if not limits.protected:
            if self.total >= self._limits.max_connections:
                return max(wait, _RETRY_SECONDS)
            wait = max(wait, self._rate.wait_seconds(now))
        return wait

    def admit(self, listener: str, address: str) -> bool:
        """Count a new connection; False when its address has too many. Creation rates count it in both cases."""
        limits = self._listeners[listener]
        limits.creation_rate.count()
        if not limits.protected:
            self._rate.count()
        if not limits.any_per_ip and self._open_from(address) >= self._limits.per_ip(address):
            return False
        self.total += 1
        self._by_listener[listener] += 1
        self._by_address.setdefault(listener, Counter())[address] += 1
        return True

    def release(self, listener: str, address: str) -> None:
        """A counted connection was closed."""
        self.total -= 1
        self._by_listener[listener] -= 1
        addresses = self._by_address[listener]
        addresses[address] -= 1
        if not addresses[address]:
            del addresses[address]

    def over(self, limits: BrokerLimits) -> list[tuple[str, int, int]]:
        """(address, open connections, limit) of each address with more open connections than `limits` allow."""
        addresses = {address for name in self._limited_per_ip() for address in self._by_address[name]}
        rows = [(address, self._open_from(address), limits.per_ip(address)) for address in sorted(addresses)]
        return [row for row in rows if row[1] > row[2]]

    def _open_from(self, address: str) -> int:
        return sum(self._by_address[name][address] for name in self._limited_per_ip())

    def _limited_per_ip(self) -> list[str]:
        return [name for name in self._by_address if not self._listeners[name].any_per_ip]

    def count_of(self, listener: str) -> int:
        return self._by_listener[listener]

    @property
    def excess(self) -> int:
        """Connections above the broker's limit, caused by protected ones: as many idle unprotected ones are closed."""
        return max(0, self.total - self._limits.max_connections)
