from __future__ import annotations

import asyncio
import gc
import socket

import pytest

from signalbox.common.audit_event import AuditKind
from signalbox.network.acceptors.control_acceptor import ControlAcceptor
from signalbox.protocol.api_table import ApiKey
from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.frame_channel import FrameChannel
from tests.network.acceptors.test_acceptor import listening
from tests.network.serving import serving
from tests.transport.loopback import until

GIVEN = {
    "listeners": "CLIENT://127.0.0.1:0,CONTROL://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROL:PLAINTEXT",
    "inter.broker.listener.name": "CLIENT",
    "control.plane.listener.name": "CONTROL",
    "listener.name.control.max.connections": "2",
}


def test_new_connections_beyond_the_listeners_limit_wait_in_the_kernel() -> None:
    async def main() -> None:
        async with serving(GIVEN) as served:
            first, second = await served.dial("CONTROL"), await served.dial("CONTROL")
            await first.ask(ApiKey.UPDATE_METADATA, 1)
            await second.ask(ApiKey.UPDATE_METADATA, 1)
            third = await served.dial("CONTROL")
            response = asyncio.ensure_future(third.ask(ApiKey.UPDATE_METADATA, 1, b"x"))
            await until(lambda: served.recorder.gauges["ControlPlaneAcceptorBlockedPercent"]() > 0)
            assert not response.done()
            first.close()
            assert await response == b"\0\0\0\1x"

    asyncio.run(main())


@pytest.mark.spec("C1")
def test_the_limit_of_an_address_is_not_for_the_control_plane() -> None:
    async def main() -> None:
        async with serving(GIVEN | {"max.connections.per.ip": "1"}) as served:
            peers = [await served.dial("CONTROL") for _ in range(2)]
            for peer in peers:
                await peer.ask(ApiKey.UPDATE_METADATA, 1)
            client = await served.dial("CLIENT")
            await client.ask(ApiKey.METADATA, 1)
            assert await (await served.dial("CLIENT")).ended()
            (event,) = await served.recorder.until(AuditKind.REJECTED)
            assert "max.connections.per.ip" in event.reason
            for connection in (*peers, client):
                connection.close()
                await served.watcher.ended.get()
            assert served.recorder.gauges["connection-count"]() == 0

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_new_connections_are_accepted_one_by_one_after_requests_of_open_ones() -> None:
    """Each poll: ready connections are handled first, then at most one new connection is accepted."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        order: list[str] = []
        sock, address = listening()
        acceptor = ControlAcceptor(loop, sock, RejectingRegistry(order), BufferPool())  # type: ignore[arg-type]
        ours, theirs = socket.socketpair()
        loop.add_reader(ours, lambda: order.append("served") if ours.recv(1) else None)
        attackers = [socket.create_connection(address) for _ in range(6)]
        acceptor.start()
        while order.count("attacker") < len(attackers):
            theirs.send(b"x")
            await asyncio.sleep(0)
        served_order = "".join("s" if each == "served" else "." for each in order)
        assert ".." not in served_order, served_order
        acceptor.stop()
        loop.remove_reader(ours)
        for each in (*attackers, ours, theirs):
            each.close()

    asyncio.run(main())


def test_a_connection_that_was_reset_before_it_was_accepted_is_not_counted() -> None:
    async def main() -> None:
        registry = RecordingRegistry()
        sock, address = listening()
        acceptor = ControlAcceptor(
            asyncio.get_running_loop(),
            sock,
            registry,  # type: ignore[arg-type]
            BufferPool(),
        )
        peer = socket.create_connection(address)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        peer.close()
        acceptor.start()
        await until(lambda: len(registry.calls) == 2)
        acceptor.stop()
        assert registry.calls == ["accept", "release"]

    asyncio.run(main())


def test_small_responses_are_sent_without_delay() -> None:
    """A second response must not wait until the peer acknowledges the first one, which may take 40 ms."""

    async def main() -> None:
        async with serving(GIVEN) as served:
            client = await served.dial("CONTROL")
            await client.ask(ApiKey.UPDATE_METADATA, 1)
            asked_from = client.sock.getsockname()
            accepted = [sock for sock in open_sockets() if peer_of(sock) == asked_from]
            assert [sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for sock in accepted] == [1]

    asyncio.run(main())


def open_sockets() -> list[socket.socket]:
    """Every TCP socket of this process, as Python objects that are alive."""
    return [found for found in gc.get_objects() if isinstance(found, socket.socket) and found.fileno() != -1]


def peer_of(sock: socket.socket) -> object:
    try:
        return sock.getpeername()
    except OSError:  # a listening socket
        return None


class RecordingRegistry:
    """A connection registry that accepts each new connection and records what follows."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def accept(self, sock: socket.socket, address: str) -> bool:
        self.calls.append("accept")
        return True

    def register(self, channel: FrameChannel) -> None:
        self.calls.append("register")

    def release(self, address: str) -> None:
        self.calls.append("release")

    def wait_seconds(self) -> float:
        return 0.0


class RejectingRegistry:
    """A connection registry that rejects each new connection and records it."""

    def __init__(self, order: list[str]) -> None:
        self._order = order

    def wait_seconds(self) -> float:
        return 0.0

    def accept(self, sock: socket.socket, _: str) -> bool:
        self._order.append("attacker")
        sock.close()
        return False


def test_control_connections_live_outside_the_data_loop() -> None:
    async def main() -> None:
        async with serving(GIVEN) as served:
            iterations = served.loop.iterations
            client = await served.dial("CONTROL")
            for _ in range(5):
                await client.ask(ApiKey.UPDATE_METADATA, 1)
            assert served.loop.iterations == iterations

    asyncio.run(main())
