"""The acceptor of a control plane (and of a controller's listeners): see `StreamAcceptor`.

A storm of unauthenticated clients can slow down such clients, not the controller.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

from signalbox.network.acceptors.acceptor import StreamAcceptor
from signalbox.network.connection_registry import ConnectionRegistry
from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.frame_channel import PEER_CLOSED
from signalbox.transport.frame_input import NO_ADDRESS
from signalbox.transport.socket_address import address_of, tune
from signalbox.transport.stream_channel import StreamChannel
from signalbox.transport.tls.tls_session import TlsFactory

log = logging.getLogger("signalbox.network.acceptors.acceptor")


class ControlAcceptor(StreamAcceptor):
    """Accepts on a bound socket, which it then owns."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        registry: ConnectionRegistry,
        pool: BufferPool,
        tls: TlsFactory | None = None,
    ) -> None:
        super().__init__(loop, sock, registry.wait_seconds, self._on_new_connection)
        self._registry = registry
        self._pool = pool
        self._tls = tls
        self._connecting: set[asyncio.Task[None]] = set()

    def _on_new_connection(self, sock: socket.socket, address: Any) -> None:
        host, _ = address_of(address)
        if not self._registry.accept(sock, host):
            return
        task = self._asyncio_loop.create_task(self._connect(sock, host))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, sock: socket.socket, host: str) -> None:
        """Make asyncio's transport for the socket; a connection that is closed before that is not counted any more."""
        registered = False

        def connected(channel: StreamChannel) -> None:
            nonlocal registered
            if channel.peer_address == NO_ADDRESS:
                channel.close(PEER_CLOSED)
                return
            registered = True
            connection = self._registry.register(channel)
            channel.max_frame_bytes = self._registry.listener.setup_frame_bytes
            channel.on_ready = lambda: self._registry.on_ready(connection)

        try:
            tune(sock)  # asyncio leaves an accepted socket's delay on: a second response would wait for an ACK
            await self._asyncio_loop.connect_accepted_socket(
                lambda: StreamChannel(self._pool, connected, self._tls() if self._tls else None), sock
            )
        except OSError as error:
            log.debug("New connection from %s closed before it was accepted: %s", host, error)
            sock.close()
        finally:
            if not registered:
                self._registry.release(host)
