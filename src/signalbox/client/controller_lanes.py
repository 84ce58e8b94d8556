"""The connections from a broker to the active controller: found, opened, left when another controller takes over.

A broker answers the requests of one connection one after the other, so a burst is spread over a few connections,
*lanes*. The first is opened at once on every controller change and again when it is cut, because its ApiVersions ranges
are part of what clients are told (F9); more are opened only while all are busy.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from signalbox.client.api_ranges import ApiRanges
from signalbox.client.connect_log import ConnectLog
from signalbox.client.connection import ClientConnection, connect
from signalbox.client.connection_settings import ConnectionSettings
from signalbox.client.failures import AuthenticationRefused, ClientFailure, ConnectFailed, Misrouted
from signalbox.client.node import Identity, Node

MAX_LANES = 4
_RETRY_SECONDS = 0.05


class ControllerLookup(Protocol):
    """Who the active controller is, by this broker's latest knowledge, at its privileged endpoint."""

    def active_controller(self) -> Node | None: ...


class ControllerLanes:
    """`on_ready` is called when a lane has opened, `on_refused` when the controller does not take our credentials."""

    def __init__(
        self,
        lookup: ControllerLookup,
        cluster_id: str | None,
        settings: ConnectionSettings,
        on_ready: Callable[[], None],
        on_refused: Callable[[ClientFailure], None],
    ) -> None:
        self._lookup = lookup
        self._cluster_id = cluster_id
        self._settings = settings
        self._on_ready = on_ready
        self._on_refused = on_refused
        self._lanes: list[ClientConnection] = []
        self._draining: list[ClientConnection] = []
        self._controller: Node | None = None
        self._avoid_once: Node | None = None  # it denied, or hung up at once: not tried again before a pause
        self._connecting: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._connect_log = ConnectLog("broker to controller")
        self._opened_at = 0.0
        self._closed = False
        self.misroutes = 0
        # Called with the id of a controller that was connected and now refuses, at every try.
        self.on_unreachable: Callable[[int], None] = lambda node_id: None

    @property
    def api_ranges(self) -> ApiRanges | None:
        """What the active controller takes; None while it is not connected."""
        return self._lanes[0].api_ranges if self._lanes else None

    def take(self) -> ClientConnection | None:
        """The lane with the fewest requests. None: all are busy or there is none, another is being opened; ask again
        when it is ready or a request was answered."""
        lane = min(self._lanes, key=lambda row: row.in_flight, default=None)
        if (lane is None or lane.in_flight) and len(self._lanes) < MAX_LANES:
            self.open_soon()
            return None
        return lane

    def open_soon(self) -> None:
        """Start to open a lane, unless that is under way."""
        if not self._closed and (self._connecting is None or self._connecting.done()):
            self._connecting = asyncio.get_running_loop().create_task(self._open())

    def controller_changed(self) -> None:
        """The lookup may have another answer now: leave the old controller, connect to the new one."""
        node = self._lookup.active_controller()
        self._changed.set()
        if node != self._controller:
            self._leave("another controller is active")
        if not self._lanes:
            self.open_soon()

    def denied(self, lane: ClientConnection) -> None:
        """The node at `lane` is not the controller: nothing new goes there; what is under way may be answered."""
        if lane in self._lanes:
            self._avoid_once = self._controller
            self._draining += self._lanes
            self._lanes = []
        self.drained()

    def drained(self) -> None:
        """A request was answered: close lanes that were only waiting for that."""
        for lane in [row for row in self._draining if not row.in_flight]:
            self._draining.remove(lane)
            lane.close("not the controller")

    async def close(self) -> None:
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        self._leave("the channel is closed")

    def _leave(self, reason: str) -> None:
        lanes, self._lanes, self._draining = self._lanes + self._draining, [], []
        self._controller = None
        for lane in lanes:
            lane.close(reason)

    def _lost(self, lane: ClientConnection) -> None:
        if lane in self._lanes:
            self._lanes.remove(lane)
            if not self._lanes:
                short_lived = asyncio.get_running_loop().time() - self._opened_at < _RETRY_SECONDS
                self._avoid_once = self._controller if short_lived else None
                self.open_soon()

    async def _open(self) -> None:
        """Find the controller and connect, again and again until it worked."""
        while not self._closed:
            self._changed.clear()
            node = self._lookup.active_controller()
            if node is not None and node != self._avoid_once and await self._try_open(node):
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
            lane = await connect(node.address, self._settings.secured(node.security), identity)
        except AuthenticationRefused as failure:
            self._connect_log.failed(failure)
            self._on_refused(failure)
            return False
        except ClientFailure as failure:
            self._connect_log.failed(failure)
            self.misroutes += isinstance(failure, Misrouted)
            # Who was never reached gives no hint: behind a cut network it may be this broker that is away.
            if node == self._controller and isinstance(failure, ConnectFailed) and failure.stage == "tcp":
                self.on_unreachable(node.node_id)
            return False
        self._connect_log.succeeded()
        if node != self._lookup.active_controller():
            lane.close("another controller is active")
            return False
        if node != self._controller:
            self._leave("another controller is active")
            self._controller = node
        self._lanes.append(lane)
        self._opened_at = asyncio.get_running_loop().time()
        lane.on_closed(lambda: self._lost(lane))
        return True
