"""Outbound connections on plain asyncio, with and without TLS: asyncio's own servers are at the other end."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import pytest

from signalbox.common.limits import PAUSE_READING_BYTES
from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.settings import TlsSettings
from signalbox.transport.frame_channel import PEER_CLOSED
from signalbox.transport.outbound_stream import OutboundStream
from signalbox.transport.tls.tls_failure import TlsFailed
from signalbox.transport.tls.tls_session import TlsSession
from tests.security.tls.handshakes import TRUSTING, inline
from tests.transport.loopback import Owner, framed, listening_socket, read_exactly, read_frame, socket_pair
from tests.transport.tls.test_tls_channel import tls_channel

END = b"end"
MAX_FRAME_BYTES = 32 << 20


def session(settings: TlsSettings = TRUSTING, executor: ThreadPoolExecutor | None = None) -> TlsSession:
    return TlsSession(client_context(settings), executor, server_side=False, server_hostname="localhost")


async def connected(port: int, tls: TlsSession | None = None) -> Owner:
    sock = socket.socket()
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
    return await opened(sock, tls)


async def opened(sock: socket.socket, tls: TlsSession | None = None) -> Owner:
    channel = OutboundStream(MAX_FRAME_BYTES, tls)
    owner = Owner(channel)
    await channel.open(sock)
    return owner


@asynccontextmanager
async def echoing(context: ssl.SSLContext | None) -> AsyncIterator[int]:
    """A server that returns every frame; it closes the connection at the frame `END`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(100_000):
                if data.endswith(framed(END)):
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


@pytest.mark.parametrize("tls", [False, True])
def test_frames_there_and_back_and_the_end(tls: bool) -> None:
    async def main() -> None:
        async with echoing(server_context(inline()) if tls else None) as port:
            owner = await connected(port, session() if tls else None)
            for size in (4, 100, 200_000, 1_500_000):
                payload = os.urandom(size)
                owner.send(payload[:2], memoryview(payload)[2:])
                assert await owner.frames.get() == payload
            assert owner.channel.peer_address == ("127.0.0.1", port)
            owner.send(END)
            assert await owner.closed == PEER_CLOSED

    asyncio.run(main())


def test_the_memory_of_a_request_is_not_read_after_the_call_and_reading_never_pauses() -> None:
    async def main() -> None:
        ours, theirs = await socket_pair()
        owner = await opened(ours)
        memory = bytearray(b"x" * (2 * PAUSE_READING_BYTES))
        owner.send(memoryview(memory))
        owner.send(memoryview(memory))
        memory[:] = bytes(len(memory))
        assert owner.channel.queued_bytes == 0
        assert not owner.channel.muted
        await asyncio.get_running_loop().sock_sendall(theirs, framed(b"early"))
        assert await owner.frames.get() == b"early"  # although the peer has read nothing
        for _ in range(2):
            assert await read_frame(theirs) == b"x" * len(memory)
        owner.channel.close("the test is over")
        theirs.close()

    asyncio.run(main())


def test_a_request_of_any_size_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is for responses that a client does not read."""

    async def main() -> None:
        ours, theirs = await socket_pair()
        owner = await opened(ours)
        monkeypatch.setattr("signalbox.transport.stream_channel.MAX_SEND_QUEUE_BYTES", 10)
        owner.send(bytes(100))
        assert await read_frame(theirs) == bytes(100)
        owner.channel.close("the test is over")
        owner.send(b"too late")
        assert owner.channel.queued_bytes == 0
        theirs.close()

    asyncio.run(main())


@pytest.mark.parametrize(
    ("data", "fault", "problem"),
    [
        (b"\xff\xff\xff\xff", "frame_size", "a frame of -1 bytes cannot hold a response"),
        (b"HTTP/1.1 400 Bad Request\r\n", "frame_size", "uses HTTP"),
        (b"\x15\x03\x03\x00\x02", "tls_on_plaintext", "uses TLS on this port"),
    ],
)
def test_a_peer_that_is_no_broker_is_named(data: bytes, fault: str, problem: str) -> None:
    async def main() -> None:
        ours, theirs = await socket_pair()
        owner = await opened(ours)
        await asyncio.get_running_loop().sock_sendall(theirs, data)
        assert problem in await owner.closed
        assert owner.channel.fault == fault
        with pytest.raises((EOFError, ConnectionError)):
            await read_exactly(theirs, 1)
        theirs.close()

    asyncio.run(main())


def test_a_reset_connection_ends_with_the_error_of_the_socket() -> None:
    async def main() -> None:
        ours, theirs = await socket_pair()
        owner = await opened(ours)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        theirs.close()
        assert await owner.closed == "[Errno 104] Connection reset by peer"

    asyncio.run(main())


def test_the_handshake_is_not_on_the_loops_thread() -> None:
    async def main() -> None:
        names: set[str] = set()
        context = client_context(TRUSTING)
        context._msg_callback = lambda *_: names.add(threading.current_thread().name)  # type: ignore[attr-defined]
        async with echoing(server_context(inline())) as port:
            with ThreadPoolExecutor(1, thread_name_prefix="elsewhere") as executor:
                tls = TlsSession(context, executor, server_side=False, server_hostname="localhost")
                owner = await connected(port, tls)
                assert names == {"elsewhere_0"}
                owner.channel.close("the test is over")

    asyncio.run(main())


def test_a_certificate_that_is_rejected() -> None:
    async def main() -> None:
        async with echoing(server_context(inline())) as port:
            with pytest.raises(TlsFailed, match="peer's certificate is rejected: "):
                await connected(port, session(TlsSettings()))

    asyncio.run(main())


def test_a_port_without_tls() -> None:
    async def main() -> None:
        async with echoing(None) as port:  # returns our own ClientHello, which no server sends
            with pytest.raises(TlsFailed, match="TLS handshake failed"):
                await connected(port, session())

        ours, theirs = await socket_pair()
        theirs.close()
        with pytest.raises(TlsFailed, match="perhaps its port is without TLS"):
            await opened(ours, session())
        ours, theirs = await socket_pair()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        theirs.close()
        with pytest.raises(TlsFailed, match="perhaps its port is without TLS"):
            await opened(ours, session())

    asyncio.run(main())


@pytest.mark.spec("L7")
def test_a_missing_client_certificate_is_reported_after_the_handshake() -> None:
    """In TLS 1.3 the client completes its handshake before the server has checked the certificate."""

    async def main() -> None:
        async with tls_channel("required") as (_, owner, client, _context):
            outbound = await opened(client, session())
            assert "the peer wants a client certificate and we have none" in await outbound.closed
            assert "the peer sent no certificate" in await owner.closed

    asyncio.run(main())


def test_a_cancelled_handshake_closes_the_connection() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        sock = listening_socket()
        connecting = asyncio.create_task(connected(sock.getsockname()[1], session()))
        peer, _ = await loop.sock_accept(sock)
        assert await loop.sock_recv(peer, 5)  # our ClientHello
        connecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await connecting
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


@pytest.mark.parametrize("tls", [False, True])
def test_requests_of_one_write_leave_together(tls: bool) -> None:
    class Recorded(OutboundStream):
        writes: list[int]

        def _write(self, data: bytes) -> None:
            self.writes.append(len(data))
            super()._write(data)

    async def main() -> None:
        async with echoing(server_context(inline()) if tls else None) as port:
            sock = socket.socket()
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
            channel = Recorded(MAX_FRAME_BYTES, session() if tls else None)
            channel.writes = []
            owner = Owner(channel)
            await channel.open(sock)
            channel.writes.clear()
            with channel.one_write():
                channel.send_frame([b"first"])
                channel.send_frame([b"second"])
                assert channel.writes == []
            assert len(channel.writes) == 1
            assert [await owner.frames.get(), await owner.frames.get()] == [b"first", b"second"]
            channel.close("the test is over")

    asyncio.run(main())
