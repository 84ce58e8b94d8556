from __future__ import annotations

import asyncio
import socket

import pytest

from signalbox.client.connection.frame_stream import FrameStream
from signalbox.client.connection.node import Address
from signalbox.client.failures import ConnectionLost, PeerBroke


def framed(*payloads: bytes) -> bytes:
    return b"".join(len(payload).to_bytes(4, "big") + payload for payload in payloads)


def answer(correlation_id: int, body: bytes = b"") -> bytes:
    return correlation_id.to_bytes(4, "big") + body


async def opened(limit: int = 1_000) -> tuple[FrameStream, asyncio.StreamReader, asyncio.StreamWriter]:
    """A stream and the other end of its connection."""
    came: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.get_running_loop().create_future()
    server = await asyncio.start_server(lambda *pair: came.set_result(pair), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    sock = socket.socket()
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, (host, port))
    stream = FrameStream(Address(host, port), limit)
    await stream.open(sock)
    server.close()
    return (stream, *(await came))


def test_answers_that_come_byte_by_byte_or_all_at_once() -> None:
    async def run() -> None:
        stream, reader, writer = await opened()
        futures = [stream.send([b"request"], number, 1_000) for number in range(3)]
        assert await reader.readexactly(33) == framed(b"request") * 3
        for byte in framed(answer(0, b"slow")):
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        assert await futures[0] == answer(0, b"slow")
        writer.write(framed(answer(1, b"x"), answer(2, b"y")))
        assert [await future for future in futures[1:]] == [answer(1, b"x"), answer(2, b"y")]
        stream.fail(ConnectionLost(stream.address, "the test is over"))
        writer.close()

    asyncio.run(run())


def test_large_requests_go_out_in_pieces_and_whole() -> None:
    async def run() -> None:
        stream, reader, writer = await opened()
        stream.send([b"head", memoryview(bytes(300_000))], 0, 1_000)
        assert await reader.readexactly(4) == (300_004).to_bytes(4, "big")
        assert len(await reader.readexactly(300_004)) == 300_004
        stream.fail(ConnectionLost(stream.address, "the test is over"))
        writer.close()

    asyncio.run(run())


def test_the_first_reason_to_end_counts_and_reaches_everybody() -> None:
    async def run() -> None:
        stream, _, writer = await opened(limit=10)
        futures = [stream.send([b"r"], number, 1_000) for number in range(2)]
        writer.write((11).to_bytes(4, "big"))
        for future in futures:
            with pytest.raises(PeerBroke, match="11 bytes is more than the 10"):
                await future
        stream.fail(ConnectionLost(stream.address, "later"))
        with pytest.raises(PeerBroke):
            await stream.send([b"r"], 9, 1_000)
        writer.close()

    asyncio.run(run())


def test_answers_in_the_wrong_order_end_the_stream() -> None:
    async def run() -> None:
        stream, _, writer = await opened()
        future = stream.send([b"r"], 0, 1_000)
        stream.send([b"r"], 1, 1_000)
        writer.write(framed(answer(1)))
        with pytest.raises(PeerBroke, match=r"response \(1\) does not match request \(0\)"):
            await future
        writer.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\0\0\0\3abc", "a frame of 3 bytes cannot hold a response"),
        (b"HTTP/1.1 400 Bad Request", "the peer uses HTTP"),
        (framed(answer(7)), "a response without a request"),
    ],
)
def test_what_is_no_response_ends_the_stream(data: bytes, problem: str) -> None:
    async def run() -> None:
        stream, _, writer = await opened()
        writer.write(data)
        failure = await stream.closed
        assert isinstance(failure, PeerBroke)
        assert problem in str(failure)
        writer.close()

    asyncio.run(run())


def test_a_closed_connection_is_lost() -> None:
    async def run() -> None:
        stream, reader, writer = await opened()
        future = stream.send([b"r"], 0, 1_000)
        assert await reader.readexactly(5) == framed(b"r")
        writer.close()
        with pytest.raises(ConnectionLost, match="closed by the broker"):
            await future
        assert isinstance(await stream.closed, ConnectionLost)

    asyncio.run(run())
