"""A plane: one of the two request paths of a broker, and what is counted about it (C1, C7).

Counters are plain ints that the metrics' gauges read when somebody scrapes. Names are Kafka's: the control plane's
carry the prefix `ControlPlane`. A controller's own listeners are a third plane that is counted as a data plane of a
controller process.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics

DATA = "data"
CONTROL = "control"
CONTROLLER = "controller"


class Plane:
    """Counts of one plane. `queued` says how many requests wait for a handler just now."""

    __slots__ = (
        "_clock", "_idle_since", "busy_seconds", "connections", "expired_connections_killed", "name", "queue_seconds",
        "queued", "rejected_requests", "requests",
    )  # fmt: skip

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self._clock = clock
        self._idle_since = (clock.monotonic(), 0.0)
        self.connections = 0
        self.requests = 0
        self.rejected_requests = 0
        self.expired_connections_killed = 0
        self.queued: Callable[[], int] = lambda: 0
        self.queue_seconds: Callable[[], float] = lambda: 0.0
        self.busy_seconds: Callable[[], float] = lambda: 0.0

    def register(self, metrics: Metrics) -> None:
        """Make the counts known under Kafka's names."""
        prefix = "ControlPlane" if self.name == CONTROL else ""
        gauges: tuple[tuple[str, str, Callable[[], float]], ...] = (
            ("RequestChannel", "RequestQueueSize", self.queued),
            ("RequestChannel", "RequestQueueTimeMsTotal", lambda: self.queue_seconds() * 1000),
            ("RequestChannel", "RequestsTotal", lambda: self.requests),
            ("SocketServer", "NetworkProcessorAvgIdlePercent", self.idle_ratio),
            ("SocketServer", "ExpiredConnectionsKilledCount", lambda: self.expired_connections_killed),
            ("SocketServer", "RejectedRequestsCount", lambda: self.rejected_requests),
            ("SocketServer", "ConnectionCount", lambda: self.connections),
        )
        for type_, name, read in gauges:
            metrics.gauge(MetricName("kafka.network", type_, prefix + name), read)

    def idle_ratio(self) -> float:
        """Share of the time since the last call in which this plane's processor had nothing to do."""
        now, busy = self._clock.monotonic(), self.busy_seconds()
        (then, busy_then), self._idle_since = self._idle_since, (now, busy)
        elapsed = now - then
        return max(0.0, min(1.0, 1 - (busy - busy_then) / elapsed)) if elapsed > 0 else 1.0
