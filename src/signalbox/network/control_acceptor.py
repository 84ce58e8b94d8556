"""The acceptor of a control plane (and of a controller's listeners): plain asyncio, apart from the data loop.

Whoever is connected comes first: a newcomer is accepted after everything that the same poll has found was handled, and
only one of them before the next poll. A storm of strangers can slow down strangers, not the controller.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

from signalbox.common.limits import CONTROL_ACCEPTS_PER_TURN
from signalbox.network.acceptor import Acceptor
from signalbox.network.reception import Reception
from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.socket_address import address_of
from signalbox.transport.stream_channel import StreamChannel
from signalbox.transport.tls_session import TlsFactory

log = logging.getLogger("signalbox.network.acceptor")


class ControlAcceptor(Acceptor):
    """Takes over a bound socket."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        reception: Reception,
        pool: BufferPool,
        tls: TlsFactory | None = None,
    ) -> None:
        super().__init__(loop, sock, reception.wait_seconds, self._arrived, CONTROL_ACCEPTS_PER_TURN)
        self._reception = reception
        self._pool = pool
        self._tls = tls
        self._takes = False  # a portion is due at the end of this round
        self._arriving: set[asyncio.Task[None]] = set()

    def _watch(self) -> None:
        self._asyncio_loop.add_reader(self._sock, self._somebody_knocks)

    def _unwatch(self) -> None:
        self._asyncio_loop.remove_reader(self._sock)

    def _somebody_knocks(self) -> None:
        if not self._takes:
            self._takes = True
            self._asyncio_loop.call_soon(self._take_portion)

    def _take_portion(self) -> None:
        self._takes = False
        self._take()

    def _arrived(self, sock: socket.socket, address: Any) -> None:
        host, _ = address_of(address)
        if not self._reception.admit(sock, host):
            return
        task = self._asyncio_loop.create_task(self._connect(sock, host))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    async def _connect(self, sock: socket.socket, host: str) -> None:
        """asyncio's transport around the socket; a newcomer that is gone before gives its place back."""
        welcomed = False

        def connected(channel: StreamChannel) -> None:
            nonlocal welcomed
            welcomed = True
            connection = self._reception.welcome(channel)
            channel.max_frame_bytes = self._reception.listener.setup_frame_bytes
            channel.on_ready = lambda: self._reception.ready(connection)

        try:
            sock.setblocking(False)
            await self._asyncio_loop.connect_accepted_socket(
                lambda: StreamChannel(self._pool, connected, self._tls() if self._tls else None), sock
            )
        except OSError as error:
            log.debug("the newcomer from %s is gone: %s", host, error)
            sock.close()
        finally:
            if not welcomed:
                self._reception.dismiss(host)
