"""The metrics of the client: Kafka's names, as `metrics()` of each object returns them.

Counts are plain numbers in the object that they are about, and are read when `metrics()` is called. Averages and maxima
are those since the object was created, not of a window as in the Java client: its rates and windows are for a reader
to derive from the totals.
"""

from __future__ import annotations

from dataclasses import dataclass

Metrics = dict[str, float]
"""Value by name; times are in milliseconds unless the name says seconds."""


class Measure:
    """Sum, count and maximum of some values."""

    __slots__ = ("count", "largest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.largest = 0.0

    def record(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.largest = max(self.largest, value)

    def merge(self, other: Measure) -> None:
        """Add the values of another measure."""
        self.count += other.count
        self.total += other.total
        self.largest = max(self.largest, other.largest)

    def as_metrics(self, prefix: str) -> Metrics:
        """`<prefix>-avg` and `<prefix>-max`; 0 without a value."""
        return {f"{prefix}-avg": self.total / self.count if self.count else 0.0, f"{prefix}-max": self.largest}


class Traffic:
    """Requests and responses of connections, in number and bytes."""

    __slots__ = ("incoming_bytes", "latency_ms", "outgoing_bytes", "requests", "responses")

    def __init__(self) -> None:
        self.requests = 0
        self.responses = 0
        self.outgoing_bytes = 0
        self.incoming_bytes = 0
        self.latency_ms = Measure()

    def merge(self, other: Traffic) -> None:
        """Add the traffic of another connection."""
        self.requests += other.requests
        self.responses += other.responses
        self.outgoing_bytes += other.outgoing_bytes
        self.incoming_bytes += other.incoming_bytes
        self.latency_ms.merge(other.latency_ms)

    def as_metrics(self) -> Metrics:
        return {
            "request-total": self.requests,
            "response-total": self.responses,
            "outgoing-byte-total": self.outgoing_bytes,
            "incoming-byte-total": self.incoming_bytes,
            **self.latency_ms.as_metrics("request-latency"),
        }


@dataclass(slots=True)
class ConnectionCounts:
    """Of one pool of connections."""

    created: int = 0
    closed: int = 0
    failed_authentications: int = 0

    def as_metrics(self) -> Metrics:
        return {
            "connection-count": self.created - self.closed,
            "connection-creation-total": self.created,
            "connection-close-total": self.closed,
            "failed-authentication-total": self.failed_authentications,
        }
