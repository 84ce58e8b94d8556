"""Metrics of the socket server: its planes, its memory, and each listener while it is served."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics
from signalbox.network.acceptors.acceptor import Acceptor
from signalbox.network.connection_registry import ConnectionRegistry
from signalbox.network.plane import PREFIXES, IdleMeter, Plane
from signalbox.transport.buffer_pool import BufferPool

_NO_MEMORY_BOUND = 2**63 - 1  # Kafka's value while queued.max.request.bytes is -1


class ServerGauges:
    """One per socket server. A listener's gauges are removed with the listener."""

    def __init__(self, metrics: Metrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._of_listeners: dict[str, list[tuple[MetricName, dict[str, str]]]] = {}

    def register_server(self, planes: Iterable[Plane], pool: BufferPool) -> None:
        """Register the metrics of the planes that have listeners, and of the receive buffers."""
        for plane in planes:
            plane.register(self._metrics, self._clock)
        for group, name, read in (
            ("kafka.network", "MemoryPoolAvailable", lambda: _NO_MEMORY_BOUND),
            ("kafka.network", "MemoryPoolUsed", lambda: pool.used_bytes),
            ("signalbox.network", "MemoryPoolIdle", lambda: pool.idle_bytes),
        ):
            self._metrics.gauge(MetricName(group, "SocketServer", name), read)

    def register_listener(self, registry: ConnectionRegistry, acceptor: Acceptor) -> None:
        """Register the metrics of a listener that is served from now on."""
        listener, row, connections = registry.listener, registry.listener.row, registry.connections
        accepting = IdleMeter(lambda: acceptor.paused_seconds, self._clock)
        blocked = MetricName("kafka.network", "Acceptor", PREFIXES[row.plane] + "AcceptorBlockedPercent")
        tags = {"listener": row.name, "networkProcessor": "0"}
        count = MetricName("kafka.server", "socket-server-metrics", "connection-count")
        created = MetricName("kafka.server", "socket-server-metrics", "connection-creation-total")
        closed = MetricName("kafka.server", "socket-server-metrics", "connection-close-total")
        info_tags = {"listener": row.name, "plane": row.plane, "forced": str(row.forced).lower()}
        self._register(row.name, blocked, lambda: 1 - accepting.read(), {"listener": row.name})
        self._register(row.name, count, lambda: len(connections), tags)
        for name, read in (
            (created, lambda: listener.accepted),
            (closed, lambda: listener.accepted - len(connections)),
        ):
            self._metrics.counter_from(name, read, tags)
            self._of_listeners[row.name].append((name, tags))
        self._register(row.name, MetricName("signalbox.network", "Listener", "Info"), lambda: 1, info_tags)

    def forget_listener(self, listener_name: str) -> None:
        """Remove the metrics of a removed listener."""
        for name, tags in self._of_listeners.pop(listener_name, ()):
            self._metrics.remove(name, tags)

    def _register(self, listener_name: str, name: MetricName, read: Callable[[], float], tags: dict[str, str]) -> None:
        self._metrics.gauge(name, read, tags)
        self._of_listeners.setdefault(listener_name, []).append((name, tags))
