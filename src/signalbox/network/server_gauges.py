"""What the socket server shows of itself: its planes, its memory, and each listener while it is served."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics
from signalbox.network.acceptor import Acceptor
from signalbox.network.plane import PREFIXES, IdleMeter, Plane
from signalbox.network.reception import Reception
from signalbox.transport.buffer_pool import BufferPool

_NO_MEMORY_BOUND = 2**63 - 1  # what Kafka says while queued.max.request.bytes is -1


class ServerGauges:
    """One per socket server. A listener's gauges go with the listener."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._of_listeners: dict[str, list[tuple[MetricName, dict[str, str]]]] = {}

    def show_server(self, planes: Iterable[Plane], pool: BufferPool) -> None:
        """The planes that have listeners, and the receive buffers."""
        for plane in planes:
            plane.register(self._metrics, self._clock)
        for name, read in (
            ("MemoryPoolAvailable", lambda: _NO_MEMORY_BOUND),
            ("MemoryPoolUsed", lambda: pool.used_bytes),
            ("MemoryPoolIdle", lambda: pool.idle_bytes),
        ):
            self._metrics.gauge(MetricName("kafka.network", "SocketServer", name), read)

    def show_listener(self, reception: Reception, acceptor: Acceptor) -> None:
        """A listener that is served from now on."""
        listener, row, connections = reception.listener, reception.listener.row, reception.connections
        accepting = IdleMeter(lambda: acceptor.paused_seconds, self._clock)
        blocked = MetricName("kafka.network", "Acceptor", PREFIXES[row.plane] + "AcceptorBlockedPercent")
        tags = {"listener": row.name, "networkProcessor": "0"}
        count = MetricName("kafka.server", "socket-server-metrics", "connection-count")
        created = MetricName("kafka.server", "socket-server-metrics", "connection-creation-total")
        says = {"listener": row.name, "plane": row.plane, "forced": str(row.forced).lower()}
        self._show(row.name, blocked, lambda: 1 - accepting.read(), {"listener": row.name})
        self._show(row.name, count, lambda: len(connections), tags)
        self._show(row.name, created, lambda: listener.accepted, tags)
        self._show(row.name, MetricName("signalbox.network", "Listener", "Info"), lambda: 1, says)

    def forget_listener(self, listener_name: str) -> None:
        """A listener that is gone."""
        for name, tags in self._of_listeners.pop(listener_name, ()):
            self._metrics.remove(name, tags)

    def _show(self, listener_name: str, name: MetricName, read: Callable[[], float], tags: dict[str, str]) -> None:
        self._metrics.gauge(name, read, tags)
        self._of_listeners.setdefault(listener_name, []).append((name, tags))
