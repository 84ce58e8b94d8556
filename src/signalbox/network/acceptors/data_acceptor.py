"""The data plane's acceptor: a listening socket in the data loop.

An iteration of the data loop accepts at most 16 new connections of one listener, and no more of them when it is
overdue, as with the requests of one connection: a storm of connects cannot starve existing connections.
"""

from __future__ import annotations

import socket

from signalbox.common.limits import MAX_ACCEPTS_AT_ONCE
from signalbox.network.acceptors.acceptor import Acceptor, OnAccepted, WaitSeconds
from signalbox.transport.data_loop import DataLoop


class DataAcceptor(Acceptor):
    """See `Acceptor`."""

    def __init__(self, loop: DataLoop, sock: socket.socket, wait_seconds: WaitSeconds, on_accepted: OnAccepted) -> None:
        super().__init__(loop.asyncio_loop, sock, wait_seconds, on_accepted, MAX_ACCEPTS_AT_ONCE)
        self._loop = loop

    def on_events(self, events: int) -> None:
        self._accept_batch()

    def _watch(self) -> None:
        if not self._loop.closed:
            self._loop.register(self._sock, self)

    def _unwatch(self) -> None:
        if not self._loop.closed:
            self._loop.unregister(self._sock)

    def _overdue(self) -> bool:
        return self._loop.overdue()
