from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from signalbox.common.file_slice import FileSlice
from signalbox.common.limits import PAUSE_READING_BYTES
from signalbox.transport.buffer_pool import BufferPool
from signalbox.transport.frame_channel import PEER_CLOSED
from signalbox.transport.stream_channel import StreamChannel
from signalbox.transport.tls.tls_session import TlsSession
from tests.transport.loopback import Owner, framed, until
from tests.transport.tls.test_tls_session import contexts
from tests.waiting import settle

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def stream_channel(*, tls: bool = False, dial_tls: bool | None = None) -> AsyncIterator[tuple[Owner, Streams]]:
    """A channel on asyncio and the streams at its other end."""
    loop = asyncio.get_running_loop()
    server_side, client_side = contexts()
    accepted: asyncio.Future[Owner] = loop.create_future()
    with ThreadPoolExecutor(2) as executor:
        server = await loop.create_server(
            lambda: StreamChannel(
                BufferPool(),
                lambda channel: accepted.set_result(Owner(channel)),
                TlsSession(server_side, executor, server_side=True) if tls else None,
                max_frame_bytes=32 << 20,
            ),
            "127.0.0.1",
            0,
        )
        port = server.sockets[0].getsockname()[1]
        context: ssl.SSLContext | None = client_side if (tls if dial_tls is None else dial_tls) else None
        streams = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname="localhost" if context else None
        )
        owner = await accepted
        try:
            yield owner, streams
        finally:
            owner.channel.close("the test is over")
            streams[1].close()
            server.close()


async def outgoing(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))


@pytest.mark.parametrize("tls", [False, True])
def test_frames_and_answers(tls: bool) -> None:
    async def main() -> None:
        async with stream_channel(tls=tls) as (owner, (reader, writer)):
            await owner.ready.wait()
            for size in (0, 5, 200_000, 1_500_000):
                payload = os.urandom(size)
                writer.write(framed(payload))
                assert await owner.frames.get() == payload
                owner.send(payload, b"!")
                assert await outgoing(reader) == payload + b"!"
            writer.close()
            assert await owner.closed == PEER_CLOSED

    asyncio.run(main())


@pytest.mark.parametrize("tls", [False, True])
def test_a_muted_channel_answers_in_order(tls: bool) -> None:
    async def main() -> None:
        async with stream_channel(tls=tls) as (owner, (_, writer)):
            owner.mute_on_frame = True
            writer.write(b"".join(framed(bytes([number])) for number in range(5)))
            assert await owner.frames.get() == b"\0"
            writer.write(framed(b"later") + framed(b"last"))
            await settle()
            expected = [bytes([number]) for number in range(1, 5)] + [b"later", b"last"]
            for payload in expected:
                assert owner.frames.empty()
                owner.channel.unmute()
                assert await owner.frames.get() == payload

    asyncio.run(main())


@pytest.mark.parametrize("tls", [False, True])
def test_a_large_file_slice_waits_for_a_slow_reader(tls: bool, tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "segment"
        content = os.urandom(12_000_000)
        path.write_bytes(content)
        async with stream_channel(tls=tls) as (owner, (reader, _)):
            await owner.ready.wait()
            with path.open("rb") as file:
                owner.send(b"head", FileSlice(file.fileno(), 0, len(content)), b"tail")
                assert owner.channel.queued_bytes > 0
                assert owner.channel.stalled_since is not None
                assert await outgoing(reader) == b"head" + content + b"tail"
                assert owner.channel.queued_bytes == 0

    asyncio.run(main())


def test_a_peer_that_does_not_read_is_not_read_from_either() -> None:
    async def main() -> None:
        pages = bytes(1 << 20)
        async with stream_channel() as (owner, (reader, writer)):
            await owner.ready.wait()
            served: list[bytes] = []

            def serve(frame: memoryview, _buffer: object) -> None:
                served.append(bytes(frame))
                owner.channel.send_frame((pages,))

            owner.channel.on_frame = serve
            requests = [b"%d" % number for number in range(100)]
            writer.write(b"".join(map(framed, requests)))
            await until(lambda: owner.channel.queued_bytes > PAUSE_READING_BYTES)
            assert owner.channel.queued_bytes <= PAUSE_READING_BYTES + len(pages) + 4
            assert len(served) < 50
            for _ in requests:
                assert len(await outgoing(reader)) == len(pages)
            assert served == requests

    asyncio.run(main())


def test_invalid_frame_sizes_close_the_channel() -> None:
    async def main() -> None:
        async with stream_channel() as (owner, (reader, writer)):
            writer.write(b"\xff\xff\xff\xff")
            assert "frame of -1 bytes" in await owner.closed
            assert owner.channel.fault == "frame_size"
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)

    asyncio.run(main())


def test_plain_text_on_a_tls_port() -> None:
    async def main() -> None:
        async with stream_channel(tls=True, dial_tls=False) as (owner, (_, writer)):
            writer.write(framed(b"\0\x12\0\0"))
            assert "sent a plaintext Kafka request (ApiVersions)" in await owner.closed
            assert owner.channel.fault == "plaintext_on_tls"

    asyncio.run(main())


@pytest.mark.parametrize("tls", [False, True])
def test_close_after_flush(tls: bool) -> None:
    async def main() -> None:
        async with stream_channel(tls=tls) as (owner, (reader, _)):
            await owner.ready.wait()
            owner.send(bytes(3_000_000))
            owner.channel.close_after_flush("served")
            assert len(await outgoing(reader)) == 3_000_000
            assert await reader.read() == b""
            assert await owner.closed == "served"

    asyncio.run(main())


def test_a_file_that_was_cut_closes_the_channel(tmp_path: Path) -> None:
    async def main() -> None:
        path = tmp_path / "segment"
        path.write_bytes(b"short")
        async with stream_channel() as (owner, _):
            with path.open("rb") as file:
                owner.send(FileSlice(file.fileno(), 0, 500))
                assert "file ended" in await owner.closed

    asyncio.run(main())
