"""Real sockets for tests of channels: one end is a channel under test, the other a plain blocking-style client."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from signalbox.transport.buffer_pool import PooledBuffer
from signalbox.transport.data_channel import DataChannel
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.frame_channel import Chunk, FrameChannel
from signalbox.transport.socket_address import tune


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4) + payload


def listening_socket() -> socket.socket:
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(16)
    sock.setblocking(False)
    return sock


async def socket_pair() -> tuple[socket.socket, socket.socket]:
    """(server side, client side) of a TCP connection, both non-blocking."""
    loop = asyncio.get_running_loop()
    listener = listening_socket()
    client = socket.socket()
    client.setblocking(False)
    try:
        await loop.sock_connect(client, listener.getsockname())
        server, _ = await loop.sock_accept(listener)
    finally:
        listener.close()
    tune(server)
    return server, client


class Owner:
    """The owner of a channel, as in network or client: keeps frames and responses, and is notified of the end."""

    def __init__(self, channel: FrameChannel) -> None:
        self.channel = channel
        self.frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.ready = asyncio.Event()
        self.mute_on_frame = False
        channel.on_frame = self.on_frame
        channel.on_closed = self.closed.set_result
        channel.on_ready = self.ready.set

    def on_frame(self, frame: memoryview, buffer: PooledBuffer | None) -> None:
        if self.mute_on_frame:
            self.channel.mute()
        self.frames.put_nowait(bytes(frame))
        if buffer is not None:
            self.channel.release_buffer(buffer)

    def send(self, *chunks: Chunk) -> None:
        pieces: Sequence[Chunk] = chunks
        self.channel.send_frame(pieces)


@asynccontextmanager
async def data_channel(budget_us: int = 100) -> AsyncIterator[tuple[DataLoop, Owner, socket.socket]]:
    """A started channel in a data loop and the socket at its other end."""
    loop = DataLoop(asyncio.get_running_loop(), budget_us)
    server, client = await socket_pair()
    channel = DataChannel(loop, server, max_frame_bytes=32 << 20)
    owner = Owner(channel)
    channel.start()
    try:
        yield loop, owner, client
    finally:
        channel.close("the test is over")
        client.close()
        loop.close()


async def until(holds: Callable[[], bool]) -> None:
    """Runs the loop until `holds` is true; the test's own timeout limits it."""
    while not holds():  # noqa: ASYNC110 - the test needs the iterations of the loop
        await asyncio.sleep(0)


def spin(seconds: float) -> None:
    """Work that takes this much processor time."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def read_frame(sock: socket.socket) -> bytes:
    """The next frame at the client's end; EOFError if the peer closed instead."""
    return await read_exactly(sock, int.from_bytes(await read_exactly(sock, 4)))


async def read_exactly(sock: socket.socket, count: int) -> bytes:
    loop = asyncio.get_running_loop()
    data = bytearray()
    while len(data) < count:
        piece = await loop.sock_recv(sock, count - len(data))
        if not piece:
            raise EOFError(f"{len(data)} of {count} bytes")
        data += piece
    return bytes(data)
