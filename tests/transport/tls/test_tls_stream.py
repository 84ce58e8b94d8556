"""Outbound TLS connections on plain asyncio: asyncio's own TLS servers are at the other end."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.settings import TlsSettings
from signalbox.transport.tls.tls_failure import TlsFailed
from signalbox.transport.tls.tls_session import TlsSession
from signalbox.transport.tls.tls_stream import TlsStream
from tests.security.tls.handshakes import TRUSTING, inline
from tests.transport.loopback import listening_socket
from tests.transport.tls.test_tls_channel import tls_channel


class Inner(asyncio.Protocol):
    def __init__(self) -> None:
        self.received = bytearray()
        self.more = asyncio.Event()
        self.lost: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.more.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set_result(exc)

    async def until(self, size: int) -> bytes:
        while len(self.received) < size:
            self.more.clear()
            await self.more.wait()
        return bytes(self.received)


async def dial(port: int, settings: TlsSettings = TRUSTING, executor: ThreadPoolExecutor | None = None) -> Inner:
    inner = Inner()
    context = client_context(settings)
    session = TlsSession(context, executor, server_side=False, server_hostname="localhost")
    stream = TlsStream(session, inner)
    await asyncio.get_running_loop().create_connection(lambda: stream, "127.0.0.1", port)
    await stream.established
    return inner


@asynccontextmanager
async def echoing(context: ssl.SSLContext | None) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(100_000):
                if data == b"end":
                    break
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def test_bytes_there_and_back_and_the_end() -> None:
    async def main() -> None:
        async with echoing(server_context(inline())) as port:
            inner = await dial(port)
            payload = os.urandom(1_000_000)
            inner.transport.write(payload[:100])
            inner.transport.writelines([payload[100:200], payload[200:]])
            assert await inner.until(len(payload)) == payload
            assert not inner.transport.is_closing()
            assert inner.transport.get_extra_info("peername")[1] == port
            inner.transport.write(b"end")
            assert await inner.lost is None

    asyncio.run(main())


def test_the_handshake_is_not_on_the_loops_thread() -> None:
    async def main() -> None:
        names: set[str] = set()
        import threading

        context = client_context(TRUSTING)
        context._msg_callback = lambda *_: names.add(threading.current_thread().name)  # type: ignore[attr-defined]
        async with echoing(server_context(inline())) as port:
            with ThreadPoolExecutor(1, thread_name_prefix="elsewhere") as executor:
                inner = Inner()
                stream = TlsStream(TlsSession(context, executor, server_side=False, server_hostname="localhost"), inner)
                await asyncio.get_running_loop().create_connection(lambda: stream, "127.0.0.1", port)
                await stream.established
                assert names == {"elsewhere_0"}
                inner.transport.abort()
                await inner.lost

    asyncio.run(main())


def test_a_certificate_that_is_rejected() -> None:
    async def main() -> None:
        async with echoing(server_context(inline())) as port:
            with pytest.raises(TlsFailed, match="peer's certificate is rejected: "):
                await dial(port, TlsSettings())

    asyncio.run(main())


def test_a_port_without_tls() -> None:
    async def main() -> None:
        async with echoing(None) as port:  # returns our own ClientHello, which no server sends
            with pytest.raises(TlsFailed, match="TLS handshake failed"):
                await dial(port)

        async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        with pytest.raises(TlsFailed, match="perhaps its port is without TLS"):
            await dial(server.sockets[0].getsockname()[1])
        server.close()

    asyncio.run(main())


@pytest.mark.spec("L7")
def test_a_missing_client_certificate_is_reported_after_the_handshake() -> None:
    """In TLS 1.3 the client completes its handshake before the server has checked the certificate."""

    async def main() -> None:
        async with tls_channel("required") as (_, owner, client, _context):
            inner = Inner()
            session = TlsSession(client_context(TRUSTING), None, server_side=False, server_hostname="127.0.0.1")
            stream = TlsStream(session, inner)
            await asyncio.get_running_loop().create_connection(lambda: stream, sock=client)
            await stream.established
            assert "the peer wants a client certificate and we have none" in str(await inner.lost)
            assert "the peer sent no certificate" in await owner.closed

    asyncio.run(main())


def test_a_cancelled_handshake_closes_the_connection() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        sock = listening_socket()
        dialling = asyncio.create_task(dial(sock.getsockname()[1]))
        peer, _ = await loop.sock_accept(sock)
        assert await loop.sock_recv(peer, 5)  # our ClientHello
        dialling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialling
        await loop.sock_sendall(peer, bytes.fromhex("15030300020228"))  # an alert: no task waits for the next step
        while True:
            try:
                if not await loop.sock_recv(peer, 1000):
                    break
            except ConnectionError:
                break
        peer.close()
        sock.close()

    asyncio.run(main())
