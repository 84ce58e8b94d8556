"""An acceptor on plain asyncio, apart from the data loop: control planes, controllers' listeners, the metrics page.

Existing connections have priority: a new connection is accepted after all events of the same poll are handled, and only
one new connection before the next poll.
"""

from __future__ import annotations

import asyncio
import socket

from signalbox.common.limits import CONTROL_ACCEPTS_PER_TURN
from signalbox.network.acceptor import Accepted, Acceptor, Ready


class StreamAcceptor(Acceptor):
    """See `Acceptor`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, ready: Ready, accepted: Accepted) -> None:
        super().__init__(loop, sock, ready, accepted, CONTROL_ACCEPTS_PER_TURN)
        self._is_due = False  # whether an accept is scheduled for the end of this poll

    def _watch(self) -> None:
        self._asyncio_loop.add_reader(self._sock, self._readable)

    def _unwatch(self) -> None:
        self._asyncio_loop.remove_reader(self._sock)

    def _readable(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._asyncio_loop.call_soon(self._take_portion)

    def _take_portion(self) -> None:
        self._is_due = False
        self._take()
