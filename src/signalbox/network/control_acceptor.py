"""The acceptor of a control plane (and of a controller's listeners): plain asyncio, apart from the data loop."""

from __future__ import annotations

import asyncio
import socket

from signalbox.network.reception import Reception
from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.stream_channel import StreamChannel
from signalbox.transport.tls_session import TlsFactory


class ControlAcceptor:
    """Takes over a bound socket."""

    def __init__(
        self, sock: socket.socket, reception: Reception, pool: BufferPool, tls: TlsFactory | None = None
    ) -> None:
        self._sock = sock
        self._reception = reception
        self._pool = pool
        self._tls = tls
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to accept."""
        self._server = await asyncio.get_running_loop().create_server(self._protocol, sock=self._sock)

    def stop(self) -> None:
        """Accept no more; the socket is closed."""
        if self._server is not None:
            self._server.close()
        else:
            self._sock.close()

    def _protocol(self) -> StreamChannel:
        return StreamChannel(self._pool, self._connected, self._tls() if self._tls else None)

    def _connected(self, channel: StreamChannel) -> None:
        reception = self._reception
        # asyncio has accepted already: a newcomer beyond the limits cannot be left in the kernel.
        if not reception.admit(channel.peer_address[0], may_wait=False):
            channel.close("too many connections")
            return
        connection = reception.welcome(channel)
        channel.max_frame_bytes = reception.listener.setup_frame_bytes
        channel.on_ready = lambda: reception.ready(connection)
