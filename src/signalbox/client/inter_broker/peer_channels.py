"""All channels from the active controller to the brokers, for the controller's effects port, and the probe that
confirms that a broker whose connections closed is dead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from signalbox.client.connection.connection_settings import ConnectionSecurity, ConnectionSettings
from signalbox.client.connection.node import Address, Node
from signalbox.client.inter_broker.broker_channel import BrokerChannel, UnreachableCallback
from signalbox.common.endpoint import Endpoint
from signalbox.common.metrics import MetricName, Metrics

Secure = Callable[[Endpoint], ConnectionSecurity | None]

_PROBE_TIMEOUT_SECONDS = 1.0
_GROUP, _TYPE = "kafka.controller", "ControllerChannelManager"
_QUEUE_SIZE = MetricName(_GROUP, _TYPE, "QueueSize")
_MISROUTES = MetricName("signalbox.client", "BrokerChannel", "MisroutedConnections")
_TOTAL_QUEUE_SIZE = MetricName(_GROUP, _TYPE, "TotalQueueSize")


class PeerChannels:
    """A registry of BrokerChannels. A broker that returns with another address gets a new channel. `secure` returns
    the security for an endpoint; None: that of `settings`."""

    def __init__(
        self,
        cluster_id: str | None,
        settings: ConnectionSettings,
        metrics: Metrics,
        on_unreachable: UnreachableCallback | None = None,
        secure: Secure = lambda endpoint: None,
    ) -> None:
        self._cluster_id = cluster_id
        self._settings = settings
        self._metrics = metrics
        self._on_unreachable = on_unreachable
        self._secure = secure
        self._channels: dict[int, BrokerChannel] = {}
        self._closing: set[asyncio.Task[None]] = set()
        metrics.gauge(_TOTAL_QUEUE_SIZE, lambda: sum(row.queue_size for row in self._channels.values()))

    def add_broker(self, broker_id: int, endpoint: Endpoint) -> None:
        """Open a channel to the broker's control endpoint. The same endpoint again changes nothing."""
        node = Node(broker_id, Address(endpoint.host, endpoint.port), security=self._secure(endpoint))
        channel = self._channels.get(broker_id)
        if channel is not None:
            if channel.node == node:
                return
            self.remove_broker(broker_id)
        channel = BrokerChannel(node, self._cluster_id, self._settings, self._on_unreachable)
        self._channels[broker_id] = channel
        tags = {"broker-id": str(broker_id)}
        self._metrics.gauge(_QUEUE_SIZE, lambda: channel.queue_size, tags)
        self._metrics.counter_from(_MISROUTES, lambda: channel.misroutes, tags)

    def remove_broker(self, broker_id: int) -> None:
        """Close a broker's channel; its requests without a response are cancelled."""
        channel = self._channels.pop(broker_id, None)
        if channel is None:
            return
        self._metrics.remove(_QUEUE_SIZE, {"broker-id": str(broker_id)})
        self._metrics.remove(_MISROUTES, {"broker-id": str(broker_id)})
        task = asyncio.get_running_loop().create_task(channel.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def send(self, broker_id: int, message: Any) -> asyncio.Future[Any]:
        """Queue a control request; the future gets its response. Cancelled when there is no channel to that broker."""
        channel = self._channels.get(broker_id)
        if channel is not None:
            return channel.send(message)
        missing: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        missing.cancel()
        return missing

    @property
    def broker_ids(self) -> set[int]:
        return set(self._channels)

    async def close(self) -> None:
        """Close every channel."""
        for broker_id in list(self._channels):
            self.remove_broker(broker_id)
        while self._closing:
            # Not gather: from 3.12 on it returns at once if all have just ended, so the loop would not run `discard`.
            await asyncio.wait(self._closing)


async def _is_closed_port(endpoint: Endpoint) -> bool:
    try:
        async with asyncio.timeout(_PROBE_TIMEOUT_SECONDS):
            _, writer = await asyncio.open_connection(endpoint.host, endpoint.port)
    except ConnectionRefusedError:
        return True
    except (OSError, TimeoutError):
        return False
    # A socket that is connected to itself: nothing listens on the port.
    dead = bool(writer.get_extra_info("sockname") == writer.get_extra_info("peername"))
    if dead:
        writer.transport.abort()
    writer.close()
    return dead


class DeathProbe:
    """The controller's BrokerProbe: a TCP connect to each address of a dead broker ends with ECONNREFUSED.

    A closed connection is only a hint; the probe confirms it at once. A stopped process (SIGSTOP) is not dead: the
    kernel still accepts its connections.
    """

    async def confirm_dead(self, broker_id: int, endpoints: Sequence[Endpoint]) -> bool:
        """Whether every address of the broker refuses connections. False without addresses: nothing is known then."""
        closed_ports = await asyncio.gather(*map(_is_closed_port, endpoints))
        return bool(closed_ports) and all(closed_ports)
