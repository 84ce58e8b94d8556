"""A plane: one of the two request paths of a broker, and what is counted about it (C1, C7).

Counters are plain ints that the metrics' gauges read when somebody scrapes. Names are Kafka's: the control plane's
carry the prefix `ControlPlane`. A controller's own listeners are a third plane, counted like a data plane (a controller
process has no other; in a combined process they carry the prefix `Controller`). Per listener there is Kafka's
`socket-server-metrics`, and the plane that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics

DATA = "data"
CONTROL = "control"
CONTROLLER = "controller"
PREFIXES = {DATA: "", CONTROL: "ControlPlane", CONTROLLER: "Controller"}
_NETWORK = "kafka.network"


class PlaneSource(Protocol):
    """What a plane's engine tells about itself: the data loop, or a request queue."""

    @property
    def queued(self) -> int:
        """Requests (or ready connections) waiting for the handler."""
        ...

    @property
    def unsent(self) -> int:
        """Answers waiting to be sent."""
        ...

    @property
    def queue_seconds(self) -> float:
        """Time that all requests so far have waited, together."""
        ...

    @property
    def busy_seconds(self) -> float:
        """Time spent handling."""
        ...


class IdleMeter:
    """Share of the time between two readings in which nothing was handled."""

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
        self.timed_out_connections = 0  # idle, stalled, never set up

    def register(self, metrics: Metrics, clock: Clock) -> None:
        """Make the counts known under Kafka's names."""
        for name, read in self._gauges(clock):
            metrics.gauge(name, read)

    def _gauges(self, clock: Clock) -> Iterator[tuple[MetricName, Callable[[], float]]]:
        prefix, source = PREFIXES[self.name], self.source

        def busy() -> float:
            return source.busy_seconds

        for type_, name, read in (
            ("RequestChannel", "RequestQueueSize", lambda: source.queued),
            ("RequestChannel", "ResponseQueueSize", lambda: source.unsent),
            ("RequestChannel", "RequestQueueTimeMsTotal", lambda: source.queue_seconds * 1000),
            ("RequestChannel", "RequestsTotal", lambda: self.requests),
            ("SocketServer", "NetworkProcessorAvgIdlePercent", IdleMeter(busy, clock).read),
            ("SocketServer", "ExpiredConnectionsKilledCount", lambda: self.expired_connections_killed),
            ("SocketServer", "TimedOutConnectionsCount", lambda: self.timed_out_connections),
            ("SocketServer", "RejectedRequestsCount", lambda: self.rejected_requests),
            ("SocketServer", "ConnectionCount", lambda: self.connections),
        ):
            yield MetricName(_NETWORK, type_, prefix + name), read
        # One thread is processor and handler at once, so both are idle together.
        handler = MetricName("kafka.server", "KafkaRequestHandlerPool", prefix + "RequestHandlerAvgIdlePercent")
        yield handler, IdleMeter(busy, clock).read
