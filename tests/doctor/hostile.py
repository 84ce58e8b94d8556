"""Servers that no Kafka client expects, on loopback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
TLS_ALERT = bytes.fromhex("15030300020228")
HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def server(serve: Serve) -> AsyncIterator[tuple[str, int]]:
    """Runs `serve` for each connection; yields the address."""
    tasks: set[asyncio.Task[None]] = set()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.transport.abort()

    listening = await asyncio.start_server(run, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[:2]
    finally:
        listening.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Accepts, reads, never responds."""
    while await reader.read(4096):
        pass


async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Closes at once."""


def sending(data: bytes) -> Serve:
    """Answers the first bytes with `data`, then keeps the connection open."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(data)
        await silent(reader, writer)

    return serve


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A valid size, then a byte now and then: the response never ends."""
    await reader.read(1)
    writer.write((50_000).to_bytes(4, "big"))
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def drip() -> None:
        nonlocal timer
        writer.write(b"\0")
        timer = loop.call_later(0.02, drip)

    drip()
    try:
        await silent(reader, writer)
    finally:
        if timer is not None:
            timer.cancel()


def full_backlog() -> tuple[socket.socket, list[socket.socket]]:
    """A listening socket whose queue of new connections is full, and the connections in it."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(0)
    queued = []
    for _ in range(4):
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(listening.getsockname())
        queued.append(sock)
    return listening, queued
