"""The connections from a broker to the active controller: opened, and closed when another controller is elected.

A broker processes the requests of one connection one after the other, so a burst is spread over a few connections. The
first one is opened at once on every controller change and again when it is lost, because its ApiVersions ranges are
part of the ApiVersions responses to clients (F9); more are opened only while all are busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from signalbox.client.connection.connect_log import ConnectLog
from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Identity, Node
from signalbox.client.connection.wire_frames import ApiRanges
from signalbox.client.failures import AuthenticationRejected, ClientFailure, ConnectFailed, Misrouted

MAX_CONNECTIONS = 4
_RETRY_SECONDS = 0.05


class ControllerLookup(Protocol):
    """The active controller in this broker's latest metadata, with its privileged endpoint."""

    def active_controller(self) -> Node | None: ...


class ControllerConnections:
    """`on_ready` is called when a connection has opened, `on_rejected` when the controller rejects our credentials."""

    def __init__(
        self,
        lookup: ControllerLookup,
        cluster_id: str | None,
        settings: ConnectionSettings,
        on_ready: Callable[[], None],
        on_rejected: Callable[[ClientFailure], None],
    ) -> None:
        self._lookup = lookup
        self._cluster_id = cluster_id
        self._settings = settings
        self._on_ready = on_ready
        self._on_rejected = on_rejected
        self._connections: list[ClientConnection] = []
        self._draining: list[ClientConnection] = []
        self._controller: Node | None = None
        self._avoid_once: Node | None = None  # it returned NOT_CONTROLLER, or closed at once: no retry before a pause
        self._connecting: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._connect_log = ConnectLog("broker to controller")
        self._opened_at = 0.0
        self._closed = False
        self.misroutes = 0
        # Called at every attempt with the id of a controller that was connected and now fails TCP connects.
        self.on_unreachable: Callable[[int], None] = lambda node_id: None

    @property
    def api_ranges(self) -> ApiRanges | None:
        """The APIs that the active controller supports; None while it is not connected."""
        return self._connections[0].api_ranges if self._connections else None

    def take(self) -> ClientConnection | None:
        """The connection with the fewest requests in flight. None: all are busy or there is none, and another is being
        opened; call again when it is ready or a response has arrived."""
        connection = min(self._connections, key=lambda row: row.in_flight, default=None)
        if (connection is None or connection.in_flight) and len(self._connections) < MAX_CONNECTIONS:
            self.open_soon()
            return None
        return connection

    def open_soon(self) -> None:
        """Start to open a connection, unless one is being opened."""
        if not self._closed and (self._connecting is None or self._connecting.done()):
            self._connecting = asyncio.get_running_loop().create_task(self._open())

    def controller_changed(self) -> None:
        """The lookup may return another controller now: disconnect from the old one, connect to the new one."""
        node = self._lookup.active_controller()
        self._changed.set()
        if node != self._controller:
            self._leave("another controller is active")
        if not self._connections:
            self.open_soon()

    def denied(self, connection: ClientConnection) -> None:
        """The node at `connection` is not the controller: no new requests to it; those in flight may get a response."""
        if connection in self._connections:
            self._avoid_once = self._controller
            self._draining += self._connections
            self._connections = []
        self.drained()

    def drained(self) -> None:
        """A response has arrived: close connections that waited only for their last response."""
        for connection in [row for row in self._draining if not row.in_flight]:
            self._draining.remove(connection)
            connection.close("not the controller")

    async def close(self) -> None:
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        self._leave("the channel is closed")

    def _leave(self, reason: str) -> None:
        connections, self._connections, self._draining = self._connections + self._draining, [], []
        self._controller = None
        for connection in connections:
            connection.close(reason)

    def _lost(self, connection: ClientConnection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)
            if not self._connections:
                short_lived = asyncio.get_running_loop().time() - self._opened_at < _RETRY_SECONDS
                self._avoid_once = self._controller if short_lived else None
                self.open_soon()

    async def _open(self) -> None:
        """Look the controller up and connect, with retries until it succeeds."""
        while not self._closed:
            self._changed.clear()
            node = self._lookup.active_controller()
            if node is not None and node != self._avoid_once and await self._try_open(node):
                self._connecting = None  # else `take`, which `on_ready` leads to, could not open the next one
                self._on_ready()
                return
            self._avoid_once = None
            try:
                async with asyncio.timeout(_RETRY_SECONDS):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _try_open(self, node: Node) -> bool:
        identity = Identity(self._cluster_id, node.node_id) if self._cluster_id is not None else None
        try:
            connection = await connect(node.address, self._settings.secured(node.security), identity)
        except AuthenticationRejected as failure:
            self._connect_log.failed(failure)
            self._on_rejected(failure)
            return False
        except ClientFailure as failure:
            self._connect_log.failed(failure)
            self.misroutes += isinstance(failure, Misrouted)
            # No hint about a node that was never reached: with a cut network this broker may be the isolated one.
            if node == self._controller and isinstance(failure, ConnectFailed) and failure.stage == "tcp":
                self.on_unreachable(node.node_id)
            return False
        self._connect_log.succeeded()
        if node != self._lookup.active_controller():
            connection.close("another controller is active")
            return False
        if node != self._controller:
            self._leave("another controller is active")
            self._controller = node
        self._connections.append(connection)
        self._opened_at = asyncio.get_running_loop().time()
        connection.on_closed(lambda: self._lost(connection))
        return True
