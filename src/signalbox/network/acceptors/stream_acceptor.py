"""An acceptor on plain asyncio, apart from the data loop: control planes, controllers' listeners, the metrics page.

Existing connections have priority: a new connection is accepted after all events of the same poll are handled, and only
one new connection before the next poll.
"""

from __future__ import annotations

import asyncio
import socket

from signalbox.common.limits import MAX_CONTROL_ACCEPTS_AT_ONCE
from signalbox.network.acceptors.acceptor import Acceptor, OnAccepted, WaitSeconds


class StreamAcceptor(Acceptor):
    """See `Acceptor`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, sock: socket.socket, wait_seconds: WaitSeconds, on_accepted: OnAccepted
    ) -> None:
        super().__init__(loop, sock, wait_seconds, on_accepted, MAX_CONTROL_ACCEPTS_AT_ONCE)
        self._is_scheduled = False  # whether an accept is scheduled for the end of this poll

    def _watch(self) -> None:
        self._asyncio_loop.add_reader(self._sock, self._readable)

    def _unwatch(self) -> None:
        self._asyncio_loop.remove_reader(self._sock)

    def _readable(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._asyncio_loop.call_soon(self._accept_scheduled)

    def _accept_scheduled(self) -> None:
        self._is_scheduled = False
        self._accept_batch()
