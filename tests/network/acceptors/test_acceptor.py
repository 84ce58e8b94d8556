"""The same on both planes: a limited number of connections per batch, pauses at a connection limit, and a process
without free file descriptors."""

from __future__ import annotations

import asyncio
import logging
import socket
from itertools import pairwise
from typing import Any

import pytest

from signalbox.common.limits import MAX_ACCEPTS_AT_ONCE
from signalbox.network.acceptors.acceptor import Acceptor, DataAcceptor
from signalbox.transport.data_loop import DataLoop
from tests.descriptors import no_new_descriptor
from tests.transport.loopback import until


class ByAsyncio(Acceptor):
    """A minimal acceptor; counts how often its socket was watched and unwatched."""

    watched = unwatched = 0

    def _watch(self) -> None:
        self.watched += 1
        self._asyncio_loop.add_reader(self._sock, self._accept_batch)

    def _unwatch(self) -> None:
        self.unwatched += 1
        self._asyncio_loop.remove_reader(self._sock)


class AcceptorHarness:
    """A listening socket, its acceptor, accepted connections (`accepted`) and the clients' sockets (`clients`)."""

    def __init__(self, *waits: float, batch_size: int = 3) -> None:
        self.waits = list(waits)
        self.accepted: list[socket.socket] = []
        self.clients: list[socket.socket] = []
        self.sock, self.address = listening()
        loop = asyncio.get_running_loop()
        self.acceptor = ByAsyncio(loop, self.sock, self._wait_seconds, self._on_accepted, batch_size)

    def _wait_seconds(self) -> float:
        return self.waits.pop(0) if self.waits else 0.0

    def _on_accepted(self, sock: socket.socket, _: Any) -> None:
        self.accepted.append(sock)

    def connect(self, times: int = 1) -> None:
        self.clients += [socket.create_connection(self.address) for _ in range(times)]

    def close(self) -> None:
        self.acceptor.stop()
        for sock in [*self.accepted, *self.clients]:
            sock.close()


def test_no_batch_is_larger_than_the_limit() -> None:
    async def main() -> None:
        harness = AcceptorHarness(batch_size=2)
        harness.connect(5)
        harness.acceptor.start()
        sizes = [0]
        while sizes[-1] < 5:
            await asyncio.sleep(0)
            sizes.append(len(harness.accepted))
        assert max(after - before for before, after in pairwise(sizes)) <= 2
        harness.close()

    asyncio.run(main())


def test_at_the_connection_limit_the_socket_is_not_watched_and_the_wait_is_counted() -> None:
    async def main() -> None:
        harness = AcceptorHarness(0.0, 0.02)
        harness.connect(2)
        harness.acceptor.start()
        await until(lambda: harness.acceptor.unwatched == 1)
        assert len(harness.accepted) == 1
        await until(lambda: len(harness.accepted) == 2)
        assert harness.acceptor.paused_seconds >= 0.02
        assert (harness.acceptor.watched, harness.acceptor.unwatched) == (2, 1)
        harness.close()

    asyncio.run(main())


def test_a_failed_accept_is_retried_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        harness = AcceptorHarness()
        harness.connect()
        with caplog.at_level(logging.WARNING), no_new_descriptor():
            harness.acceptor.start()
            await until(lambda: harness.acceptor.unwatched == 2)  # two attempts failed
        assert harness.accepted == []
        await until(lambda: len(harness.accepted) == 1)
        assert [str(harness.address) in record.getMessage() for record in caplog.records] == [True]
        harness.close()

    asyncio.run(main())


def test_an_acceptor_stopped_during_a_pause_does_not_resume() -> None:
    async def main() -> None:
        harness, later = AcceptorHarness(0.01), asyncio.Event()
        harness.connect()
        harness.acceptor.start()
        await until(lambda: harness.acceptor.unwatched == 1)
        harness.acceptor.stop()
        asyncio.get_running_loop().call_later(0.02, later.set)  # after the end of the pause
        await later.wait()
        assert (harness.acceptor.watched, harness.accepted, harness.sock.fileno()) == (1, [], -1)
        harness.close()

    asyncio.run(main())


def listening() -> tuple[socket.socket, tuple[str, int]]:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(128)
    sock.setblocking(False)
    return sock, sock.getsockname()


def test_a_storm_is_accepted_in_batches() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop(), budget_us=1)
        sock, address = listening()
        iterations: list[int] = []
        on_accepted: list[socket.socket] = []

        def take(connection: socket.socket, _: object) -> None:
            on_accepted.append(connection)
            iterations.append(loop.iterations)

        acceptor = DataAcceptor(loop, sock, lambda: 0.0, take)
        clients = [socket.create_connection(address) for _ in range(MAX_ACCEPTS_AT_ONCE * 2 + 5)]
        acceptor.start()
        await until(lambda: len(on_accepted) == len(clients))
        assert max(iterations.count(number) for number in set(iterations)) <= MAX_ACCEPTS_AT_ONCE
        acceptor.stop()
        for connection in [*clients, *on_accepted]:
            connection.close()
        loop.close()

    asyncio.run(main())


def test_new_connections_beyond_the_limit_wait_in_the_kernel() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        sock, address = listening()
        waits = [0.0, 0.01, 0.01, 0.0, 0.01]
        on_accepted: asyncio.Queue[socket.socket] = asyncio.Queue()
        acceptor = DataAcceptor(
            loop, sock, lambda: waits.pop(0) if waits else 5.0, lambda each, _: on_accepted.put_nowait(each)
        )
        acceptor.start()
        clients = [socket.create_connection(address) for _ in range(3)]
        first, second = await on_accepted.get(), await on_accepted.get()
        assert acceptor.paused_seconds >= 0.02
        assert on_accepted.empty()
        acceptor.stop()
        for connection in [*clients, first, second]:
            connection.close()
        loop.close()

    asyncio.run(main())


def test_a_stopped_acceptor_does_not_come_back() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        sock, address = listening()
        calls: list[float] = []
        faults: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))

        def full() -> float:
            calls.append(0.001)
            return calls[-1]

        acceptor = DataAcceptor(loop, sock, full, lambda *_: None)
        acceptor.start()
        client = socket.create_connection(address)
        await until(lambda: len(calls) > 1)  # after a pause it tries again while it is not stopped
        acceptor.stop()
        assert sock.fileno() == -1
        over = asyncio.Event()
        asyncio.get_running_loop().call_later(0.01, over.set)
        await over.wait()  # its pause would have ended before this, without a socket to listen on
        assert faults == []
        client.close()
        loop.close()

    asyncio.run(main())


def test_a_shortage_of_descriptors_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        sock, address = listening()
        on_accepted: asyncio.Queue[socket.socket] = asyncio.Queue()
        acceptor = DataAcceptor(loop, sock, lambda: 0.0, lambda each, _: on_accepted.put_nowait(each))
        client = socket.create_connection(address)
        with no_new_descriptor():
            acceptor.start()
            await until(lambda: acceptor.paused_seconds > 0.25)  # further attempts failed as well
            assert on_accepted.empty()
        (await on_accepted.get()).close()
        assert caplog.text.count("cannot be accepted") == 1
        acceptor.stop()
        client.close()
        loop.close()

    asyncio.run(main())
