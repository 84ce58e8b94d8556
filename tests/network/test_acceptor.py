"""The same on both planes: a limited number of connections per turn, pauses at a connection limit, and a process
without free file descriptors."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from signalbox.network.acceptor import Acceptor
from tests.network.test_data_acceptor import listening
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


class Door:
    """A listening socket, its acceptor, accepted connections (`inside`) and the clients' sockets (`outside`)."""

    def __init__(self, *waits: float, per_turn: int = 3) -> None:
        self.waits = list(waits)
        self.inside: list[socket.socket] = []
        self.outside: list[socket.socket] = []
        self.sock, self.address = listening()
        loop = asyncio.get_running_loop()
        self.acceptor = ByAsyncio(loop, self.sock, self._wait_seconds, self._on_accepted, per_turn)

    def _wait_seconds(self) -> float:
        return self.waits.pop(0) if self.waits else 0.0

    def _on_accepted(self, sock: socket.socket, _: Any) -> None:
        self.inside.append(sock)

    def knock(self, times: int = 1) -> None:
        self.outside += [socket.create_connection(self.address) for _ in range(times)]

    def close(self) -> None:
        self.acceptor.stop()
        for sock in [*self.inside, *self.outside]:
            sock.close()


def test_no_turn_takes_more_than_a_portion() -> None:
    async def main() -> None:
        door = Door(per_turn=2)
        door.knock(5)
        door.acceptor.start()
        sizes = [0]
        while sizes[-1] < 5:
            await asyncio.sleep(0)
            sizes.append(len(door.inside))
        assert max(after - before for before, after in pairwise(sizes)) <= 2
        door.close()

    asyncio.run(main())


def test_without_room_the_socket_is_not_looked_at_and_the_wait_is_counted() -> None:
    async def main() -> None:
        door = Door(0.0, 0.02)
        door.knock(2)
        door.acceptor.start()
        await until(lambda: door.acceptor.unwatched == 1)
        assert len(door.inside) == 1
        await until(lambda: len(door.inside) == 2)
        assert door.acceptor.paused_seconds >= 0.02
        assert (door.acceptor.watched, door.acceptor.unwatched) == (2, 1)
        door.close()

    asyncio.run(main())


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Inside, the process cannot open another file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_system_that_gives_no_socket_is_asked_again_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        door = Door()
        door.knock()
        with caplog.at_level(logging.WARNING), no_descriptor_left():
            door.acceptor.start()
            await until(lambda: door.acceptor.unwatched == 2)  # two attempts failed
        assert door.inside == []
        await until(lambda: len(door.inside) == 1)
        assert [str(door.address) in record.getMessage() for record in caplog.records] == [True]
        door.close()

    asyncio.run(main())


def test_who_stopped_in_a_pause_does_not_come_back() -> None:
    async def main() -> None:
        door, later = Door(0.01), asyncio.Event()
        door.knock()
        door.acceptor.start()
        await until(lambda: door.acceptor.unwatched == 1)
        door.acceptor.stop()
        asyncio.get_running_loop().call_later(0.02, later.set)  # after the end of the pause
        await later.wait()
        assert (door.acceptor.watched, door.inside, door.sock.fileno()) == (1, [], -1)
        door.close()

    asyncio.run(main())
