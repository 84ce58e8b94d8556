"""A network in memory between a client and loopback brokers, with faults drawn by a seed.

An address leads to the broker to which it is wired when a connection is opened, as a port mapping or a load balancer
does. A connection delivers requests and responses in order, each after a delay. It may be cut at any moment: before a
request has arrived, or after the broker has executed it, which is the case that matters to a producer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from signalbox.client.connection.frame_stream import FrameStream
from signalbox.client.connection.node import Address
from signalbox.client.connection.stream_opener import StreamOpener
from tests.client.loopback_cluster import LoopbackBroker
from tests.client.simulation.virtual_loop import pass_time

_LENGTH_BYTES = 4


class Route:
    """Where one address leads, and how."""

    def __init__(self, home: LoopbackBroker) -> None:
        self.home = home
        self.broker = home
        self.opened = 0  # connections
        self.swallows = False  # nothing arrives, as behind a firewall
        self.is_down = False
        self.delay_s = 0.001

    def restore(self) -> None:
        self.broker, self.swallows, self.is_down, self.delay_s = self.home, False, False, 0.001


class Network:
    """`install` puts it in the place of the sockets of this process's clients."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.routes: dict[Address, Route] = {}
        self.links: set[Link] = set()
        self.attempts = 0  # to connect, to any address
        self.closed: list[tuple[float, Route, str]] = []  # when the client itself closed which connection, and why

    def install(self, monkeypatch: Any) -> None:
        network = self

        async def dial(opener: StreamOpener, ip: str) -> FrameStream:
            address = opener._address
            opener.stage = "tcp"
            network.attempts += 1
            route = network.routes.get(address)
            if route is None:
                raise ConnectionRefusedError(111, "Connection refused")
            await pass_time(route.delay_s)
            if route.swallows:
                await asyncio.Event().wait()  # until the connect timeout
            if route.is_down:
                raise ConnectionRefusedError(111, "Connection refused")
            stream = FrameStream(address, opener._settings.max_handshake_frame_bytes)
            stream._channel.attach(Link(network, route))  # type: ignore[attr-defined]
            return stream

        monkeypatch.setattr("signalbox.client.connection.frame_stream.OutboundStream", Channel)
        monkeypatch.setattr(StreamOpener, "_dial_one", dial)

    def sever(self, address: Address) -> None:
        """Cut the open connections of an address."""
        for link in tuple(self.links):
            if link.route is self.routes[address]:
                link.cut()

    def restore(self) -> None:
        """Every route leads home again. Connections to other brokers are cut."""
        for route in self.routes.values():
            route.restore()
        for link in tuple(self.links):
            if link.broker is not link.route.broker:
                link.cut()


class Channel:
    """In the place of an OutboundStream."""

    def __init__(self, max_frame_bytes: int, tls: object = None) -> None:
        self.max_frame_bytes = max_frame_bytes
        self.on_frame: Callable[[memoryview, None], None]
        self.on_closed: Callable[[str], None]
        self.fault = False
        self._link: Link | None = None

    def attach(self, link: Link) -> None:
        self._link = link
        link.channel = self

    def send_frame(self, chunks: list[bytes]) -> None:
        if self._link is not None:
            self._link.requests.put_nowait(b"".join(bytes(chunk) for chunk in chunks))

    def close(self, reason: str) -> None:
        if self._link is not None:
            link, self._link = self._link, None
            link.network.closed.append((asyncio.get_running_loop().time(), link.route, reason))
            link.end()


class Link:
    """One connection. `write` and `transport.abort` are what a LoopbackBroker needs of its writer."""

    def __init__(self, network: Network, route: Route) -> None:
        self.network, self.route, self.broker = network, route, route.broker
        self.requests: asyncio.Queue[bytes] = asyncio.Queue()
        self.channel: Channel | None = None
        self.transport = self
        self._response = b""
        network.links.add(self)
        route.opened += 1
        self._task = asyncio.get_running_loop().create_task(self._carry())

    async def _carry(self) -> None:
        while True:
            request = await self.requests.get()
            await self._travel()
            await self.broker._handle(request, self)  # type: ignore[arg-type]
            await self._travel()
            if self.channel is not None:
                self.channel.on_frame(memoryview(self._response[_LENGTH_BYTES:]), None)

    async def _travel(self) -> None:
        await pass_time(self.route.delay_s * self.network.random.uniform(0.5, 1.5))
        if self.route.swallows:
            await asyncio.Event().wait()

    def write(self, data: bytes) -> None:
        self._response = data

    async def drain(self) -> None:
        """Nothing is buffered."""

    def abort(self) -> None:
        self.cut()

    def cut(self) -> None:
        """As a reset: the client notices at once, and a request on its way is lost."""
        channel = self.channel
        self.end()
        if channel is not None:
            channel.on_closed("connection reset by peer")

    def end(self) -> None:
        self.channel = None
        self.network.links.discard(self)
        self._task.cancel()
