"""A plane: one of the two request paths of a broker, and its metrics (C1, C7).

Counters are plain ints that the metrics read on a scrape. Kafka's metrics have Kafka's names (KIP-291): those of the
control plane have the prefix `ControlPlane`. A controller's own listeners are a third plane, counted like a data plane
(a controller process has no other; in a combined process they have the prefix `Controller`). Metrics that Kafka does
not have are in `signalbox.network`, with the plane as a tag. Per listener there are Kafka's `socket-server-metrics`,
and the plane that the listener belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics

DATA = "data"
CONTROL = "control"
CONTROLLER = "controller"
PREFIXES = {DATA: "", CONTROL: "ControlPlane", CONTROLLER: "Controller"}
_NETWORK = "kafka.network"
_OWN = "signalbox.network"


class PlaneSource(Protocol):
    """The source of a plane's metrics: the data loop, or a request queue."""

    @property
    def queued(self) -> int:
        """Requests (or ready connections) that wait for the handler."""
        ...

    @property
    def unsent(self) -> int:
        """Responses that wait to be sent."""
        ...

    @property
    def queue_seconds(self) -> float:
        """Total time that all requests so far have waited."""
        ...

    @property
    def busy_seconds(self) -> float:
        """Total time spent in handlers."""
        ...


class IdleMeter:
    """Share of the time between two reads in which no request was handled."""

    def __init__(self, busy_seconds: Callable[[], float], clock: Clock) -> None:
        self._busy_seconds = busy_seconds
        self._clock = clock
        self._last = (clock.monotonic(), busy_seconds())

    def read(self) -> float:
        now, busy = self._clock.monotonic(), self._busy_seconds()
        (then, busy_then), self._last = self._last, (now, busy)
        elapsed = now - then
        return max(0.0, min(1.0, 1 - (busy - busy_then) / elapsed)) if elapsed > 0 else 1.0


class Plane:
    """Counts of one plane."""

    __slots__ = (
        "connections", "expired_connections_killed", "name", "rejected_requests", "requests", "source",
        "timed_out_connections",
    )  # fmt: skip

    def __init__(self, name: str, source: PlaneSource) -> None:
        self.name = name
        self.source = source
        self.connections = 0
        self.requests = 0
        self.rejected_requests = 0
        self.expired_connections_killed = 0  # sessions that were not renewed (KIP-368), as Kafka counts
        self.timed_out_connections = 0  # idle, stalled, or not set up in time

    def register(self, metrics: Metrics, clock: Clock) -> None:
        """Register the metrics: Kafka's under its names, the others with the plane as a tag."""
        prefix, source, tags = PREFIXES[self.name], self.source, {"plane": self.name}

        def busy() -> float:
            return source.busy_seconds

        for group, type_, name, read in (
            (_NETWORK, "RequestChannel", "RequestQueueSize", lambda: source.queued),
            (_NETWORK, "RequestChannel", "ResponseQueueSize", lambda: source.unsent),
            # One thread is processor and handler at once, so both are idle together.
            (_NETWORK, "SocketServer", "NetworkProcessorAvgIdlePercent", IdleMeter(busy, clock).read),
            ("kafka.server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent", IdleMeter(busy, clock).read),
        ):
            metrics.gauge(MetricName(group, type_, prefix + name), read)
        expired = MetricName(_NETWORK, "SocketServer", prefix + "ExpiredConnectionsKilledCount")
        metrics.counter_from(expired, lambda: self.expired_connections_killed)
        metrics.gauge(MetricName(_OWN, "SocketServer", "Connections"), lambda: self.connections, tags)
        for type_, own, count in (
            ("RequestChannel", "Requests", lambda: self.requests),
            ("RequestChannel", "RequestQueueTimeMs", lambda: source.queue_seconds * 1000),
            ("SocketServer", "RejectedRequests", lambda: self.rejected_requests),
            ("SocketServer", "TimedOutConnections", lambda: self.timed_out_connections),
        ):
            metrics.counter_from(MetricName(_OWN, type_, own), count, tags)
