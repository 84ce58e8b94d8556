from __future__ import annotations

import asyncio
import itertools
import os
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from signalbox.common.file_slice import FileSlice
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.frame_channel import PEER_CLOSED
from signalbox.transport.tls.tls_channel import TlsDataChannel
from signalbox.transport.tls.tls_session import TlsSession
from tests.transport.large_frames import handle_in_slices
from tests.transport.loopback import Owner, framed, socket_pair, spin
from tests.transport.tls.test_tls_session import contexts

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def tls_channel(
    client_auth: str = "none",
) -> AsyncIterator[tuple[DataLoop, Owner, socket.socket, ssl.SSLContext]]:
    """A started server-side channel, and the raw socket at the other end with a client's context for it."""
    server_side, client_side = contexts(client_auth=client_auth)
    loop = DataLoop(asyncio.get_running_loop())
    server, client = await socket_pair()
    session = TlsSession(server_side, loop.threads.data, server_side=True)
    channel = TlsDataChannel(loop, server, session, max_frame_bytes=32 << 20)
    owner = Owner(channel)
    channel.start()
    try:
        yield loop, owner, client, client_side
    finally:
        channel.close("the test is over")
        client.close()
        loop.close()


async def dial(client: socket.socket, context: ssl.SSLContext) -> Streams:
    return await asyncio.open_connection(sock=client, ssl=context, server_hostname="localhost")


async def answer(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


def test_frames_and_answers_through_tls() -> None:
    async def main() -> None:
        async with tls_channel("required") as (_, owner, client, context):
            reader, writer = await dial(client, context)
            await owner.ready.wait()
            certificate = owner.channel.peer_certificate
            assert certificate is not None
            for size in (0, 5, 20_000, 400_000, 2_000_000):
                payload = os.urandom(size)
                writer.write(framed(payload))
                assert await owner.frames.get() == payload
                owner.send(payload, b"!")
                assert await answer(reader) == payload + b"!"
            writer.close()
            assert await owner.closed == PEER_CLOSED

    asyncio.run(main())


def test_a_burst_of_requests_through_tls_is_served_in_several_iterations() -> None:
    async def main() -> None:
        async with tls_channel() as (_, owner, client, context):
            numbers: list[int] = []

            def serve(frame: memoryview, buffer: object) -> None:
                spin(0.0001)
                numbers.append(int(bytes(frame)))

            _, writer = await dial(client, context)
            await owner.ready.wait()
            owner.channel.on_frame = serve
            writer.write(b"".join(framed(b"%05d" % number) for number in range(5_000)))
            before, longest = 0, 0
            while len(numbers) < 5_000:
                await asyncio.sleep(0)
                longest, before = max(longest, len(numbers) - before), len(numbers)
            assert numbers == list(range(5_000)), "in order"
            assert longest <= 20

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_a_large_frame_through_tls_is_handled_in_slices_beside_other_connections() -> None:
    async def main() -> None:
        async with tls_channel() as (loop, owner, client, context):
            _, writer = await dial(client, context)
            await owner.ready.wait()

            async def send(data: bytes) -> None:
                writer.write(data)
                await writer.drain()

            await handle_in_slices(loop, owner, send)

    asyncio.run(main())


def test_a_large_file_slice_is_encrypted_in_pieces(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "segment"
        content = os.urandom(12_000_000)
        path.write_bytes(content)
        async with tls_channel() as (_, owner, client, context):
            reader, _writer = await dial(client, context)
            await owner.ready.wait()
            with path.open("rb") as file:
                owner.send(b"head", FileSlice(file.fileno(), 0, len(content)), b"tail")
                await asyncio.sleep(0)
                assert owner.channel.queued_bytes > 0
                assert await answer(reader) == b"head" + content + b"tail"
                assert owner.channel.queued_bytes == 0

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_a_long_response_through_tls_is_sent_in_several_works(tmp_path: Path) -> None:
    async def main() -> None:
        async with tls_channel() as (_, owner, client, context):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            reader, _writer = await dial(client, context)
            await owner.ready.wait()
            content = os.urandom(8_000_000)
            flushed: list[int] = []

            class Counting(TlsDataChannel):
                __slots__ = ()

                def flush(self) -> None:
                    flushed.append(self.queued_bytes)
                    super().flush()

            owner.channel.__class__ = Counting
            (tmp_path / "segment").write_bytes(content)
            with (tmp_path / "segment").open("rb") as file:
                owner.send(FileSlice(file.fileno(), 0, len(content)))
                assert await answer(reader) == content
            largest = max(before - after for before, after in itertools.pairwise([*flushed, 0]))
            assert largest <= 2_000_000, "a work encrypts for a few slices only"

    asyncio.run(main())


def test_a_muted_channel_continues_with_what_is_already_decrypted() -> None:
    async def main() -> None:
        async with tls_channel() as (_, owner, client, context):
            _, writer = await dial(client, context)
            owner.mute_on_frame = True
            writer.write(b"".join(framed(str(number).encode()) for number in range(5)))
            await writer.drain()
            for number in range(5):
                assert await owner.frames.get() == str(number).encode()
                assert owner.frames.empty()
                if number == 2:
                    writer.write(framed(b"more"))  # arrives while muted
                owner.channel.unmute()
            assert await owner.frames.get() == b"more"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "HTTP"),
        (framed(b"\0\x12\0\0\0\0\0\x01\0\0"), "a plaintext Kafka request (ApiVersions)"),
        (bytes(64), "bytes that are not TLS"),
    ],
)
def test_plain_text_on_a_tls_port(data: bytes, named: str) -> None:
    async def main() -> None:
        async with tls_channel() as (_, owner, client, _context):
            client.send(data)
            assert f"the peer sent {named}" in await owner.closed
            assert owner.channel.fault == "plaintext_on_tls"

    asyncio.run(main())


def test_a_peer_that_leaves_during_the_handshake() -> None:
    async def main() -> None:
        async with tls_channel() as (_, owner, client, _context):
            client.send(bytes.fromhex("1603010200"))
            client.close()
            assert await owner.closed == PEER_CLOSED
            assert not owner.ready.is_set()

    asyncio.run(main())


def test_close_after_flush_sends_close_notify() -> None:
    async def main() -> None:
        async with tls_channel() as (_, owner, client, context):
            reader, _writer = await dial(client, context)
            await owner.ready.wait()
            owner.send(b"last words")
            owner.channel.close_after_flush("served")
            assert await answer(reader) == b"last words"
            assert await reader.read() == b""  # a truncated stream would raise
            assert await owner.closed == "served"

    asyncio.run(main())


def test_an_invalid_frame_size_closes_the_channel() -> None:
    async def main() -> None:
        async with tls_channel() as (_, owner, client, context):
            _, writer = await dial(client, context)
            writer.write((-5).to_bytes(4, signed=True))
            assert "frame of -5 bytes" in await owner.closed
            assert owner.channel.fault == "frame_size"

    asyncio.run(main())


def test_tampered_ciphertext_closes_the_channel() -> None:
    async def main() -> None:
        async with tls_channel() as (_, owner, client, context):
            _, writer = await dial(client, context)
            await owner.ready.wait()
            raw = writer.get_extra_info("socket")
            os.write(raw.fileno(), bytes.fromhex("1703030020") + bytes(32))
            assert "TLS failed" in await owner.closed

    asyncio.run(main())
