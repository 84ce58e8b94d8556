from __future__ import annotations

import asyncio
import os
import resource
import socket

import pytest

from signalbox.common.limits import MAX_ACCEPTS_AT_ONCE
from signalbox.network.acceptors.data_acceptor import DataAcceptor
from signalbox.transport.data_loop import DataLoop
from tests.transport.loopback import until


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
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        highest = max(map(int, os.listdir("/proc/self/fd")))
        held = [os.dup(0) for _ in range(highest)]  # no number below the limit is free
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 1, hard))
            acceptor.start()
            await until(lambda: acceptor.paused_seconds > 0.25)  # further attempts failed as well
            assert on_accepted.empty()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for descriptor in held:
                os.close(descriptor)
        (await on_accepted.get()).close()
        assert caplog.text.count("cannot be accepted") == 1
        acceptor.stop()
        client.close()
        loop.close()

    asyncio.run(main())
