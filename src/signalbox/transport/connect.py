"""Outbound connections in the data loop: for replica fetchers.

Their sockets are in the same loop as those of clients (decision 0003).
"""

from __future__ import annotations

import asyncio
import socket
import ssl

from signalbox.common.limits import MAX_FRAME_SIZE_BYTES
from signalbox.transport.data_channel import DataChannel
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.socket_address import reject_self_connection, tune
from signalbox.transport.tls.tls_channel import TlsDataChannel
from signalbox.transport.tls.tls_failure import TlsFailed
from signalbox.transport.tls.tls_session import TlsSession


async def connect_data_channel(
    data_loop: DataLoop,
    host: str,
    port: int,
    *,
    ssl_context: ssl.SSLContext | None = None,
    timeout_ms: int = 10_000,
    max_frame_bytes: int = MAX_FRAME_SIZE_BYTES,
) -> DataChannel:
    """An established channel, TLS handshake included. Set `on_frame` and `on_closed` before the loop runs again.

    OSError (also TimeoutError, TlsFailed) if the connection fails. Every address of `host` is tried in turn.
    """
    async with asyncio.timeout(timeout_ms / 1000):
        sock = await _connect(host, port)
        try:
            if ssl_context is None:
                channel = DataChannel(data_loop, sock, max_frame_bytes)
                channel.start()
                return channel
            session = TlsSession(ssl_context, data_loop.threads.data, server_side=False, server_hostname=host)
            channel = TlsDataChannel(data_loop, sock, session, max_frame_bytes)
        except BaseException:
            sock.close()
            raise
        return await _handshake(channel)


async def _connect(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    last_error: OSError | None = None
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            tune(sock)
            await loop.sock_connect(sock, address)
            reject_self_connection(sock)
        except OSError as error:
            sock.close()
            last_error = error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise last_error or OSError(f"{host} has no address")


async def _handshake(channel: DataChannel) -> DataChannel:
    established: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def ready() -> None:
        if not established.done():
            established.set_result(None)

    def closed(reason: str) -> None:
        if not established.done():
            established.set_exception(TlsFailed(reason))

    channel.on_ready, channel.on_closed = ready, closed
    channel.start()
    try:
        await established
    except BaseException:
        channel.close("the connection attempt was cancelled")
        raise
    return channel
