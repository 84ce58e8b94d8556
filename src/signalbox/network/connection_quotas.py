"""How many connections there may be: for the broker, a listener, an address; and how fast they come.

The acceptor asks `wait_seconds` before it accepts (creation rates, `max.connections` of listener and broker) and
`admit` afterwards (per address; over the limit is closed at once). The listeners of brokers are protected when there
are others: broker-wide limits do not hold them back, since neither replication nor the controller must lose to a storm
of clients. Kafka protects the inter-broker listener alone.
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
    """At most `per_second` new ones, as a bucket of one second's worth."""

    per_second: int
    _allowance: float = 0.0
    _updated_at: float = field(default=-1.0)

    def wait_seconds(self, now: float) -> float:
        """Seconds until one more may come; 0 is now."""
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
        """Whether it remembers nothing: a new one would say the same."""
        return self._allowance + (now - self._updated_at) * self.per_second >= self.per_second


@dataclass(slots=True)
class ListenerLimits:
    """One listener's own limits."""

    max_connections: int = _UNLIMITED
    creation_rate: CreationRate = field(default_factory=lambda: CreationRate(_UNLIMITED))
    protected: bool = False


@dataclass(frozen=True, slots=True)
class BrokerLimits:
    """The broker-wide ones."""

    max_connections: int = _UNLIMITED
    max_creation_rate: int = _UNLIMITED
    max_per_ip: int = _UNLIMITED
    per_ip_overrides: Mapping[str, int] = field(default_factory=dict)


class ConnectionQuotas:
    """Counts what is open. Every `admit` that is True is followed by one `release`. `descriptors_are_scarce` is asked
    with whether it is for a protected listener."""

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
        self._by_address: Counter[str] = Counter()
        self.total = 0

    def change(self, limits: BrokerLimits, listeners: Mapping[str, ListenerLimits]) -> None:
        """Other limits from now on. What is open stays open and counted; a creation rate that stays goes on."""
        if limits.max_creation_rate != self._limits.max_creation_rate:
            self._rate = CreationRate(limits.max_creation_rate)
        for name, after in listeners.items():
            before = self._listeners.get(name)
            if before is not None and before.creation_rate.per_second == after.creation_rate.per_second:
                after.creation_rate = before.creation_rate
        # Who is still connected to a listener that goes is counted on.
        self._limits, self._listeners = limits, {**self._listeners, **listeners}

    def wait_seconds(self, listener: str) -> float:
        """How long the acceptor of `listener` should leave newcomers in the kernel; 0 is not at all."""
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
        """Count a new connection; False when its address has too many. Creation rates count it all the same."""
        limits = self._listeners[listener]
        limits.creation_rate.count()
        if not limits.protected:
            self._rate.count()
        limit = self._limits.per_ip_overrides.get(address, self._limits.max_per_ip)
        if self._by_address[address] >= limit:
            return False
        self.total += 1
        self._by_listener[listener] += 1
        self._by_address[address] += 1
        return True

    def release(self, listener: str, address: str) -> None:
        """A counted connection is gone."""
        self.total -= 1
        self._by_listener[listener] -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]

    def count_of(self, listener: str) -> int:
        return self._by_listener[listener]

    @property
    def excess(self) -> int:
        """Connections above the broker's limit, because protected ones came: unprotected idle ones must go."""
        return max(0, self.total - self._limits.max_connections)
