from __future__ import annotations

import asyncio

import pytest

from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_relay import Relay
from tests.waiting import until_true

pytestmark = pytest.mark.spec("R7")


def test_all_bytes_of_a_closing_target_are_forwarded() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(3) + b"!")
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with Switchboard() as board:
            address = await board.add_line("l", server.sockets[0].getsockname()[:2])
            for delay_ms in (0, 20):
                board.delay("l", delay_ms)
                reader, writer = await asyncio.open_connection(*address)
                writer.write(b"bye")
                assert await asyncio.wait_for(reader.read(), 60) == b"bye!"
                writer.close()
        server.close()

    asyncio.run(run())


def is_throttled(relay: Relay) -> bool:
    """Whether the relay reads no more from its target."""
    target = relay._target
    return isinstance(target, asyncio.ReadTransport) and not target.is_reading()


def test_a_slow_caller_slows_the_target_down_and_loses_nothing() -> None:
    sent = bytes(1_000) * 32_000  # more than the socket buffers hold

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with Switchboard() as board:
            address = await board.add_line("l", server.sockets[0].getsockname()[:2])
            reader, writer = await asyncio.open_connection(*address, limit=4_096)
            await until_true(lambda: any(is_throttled(relay) for relay in board._lines["l"].relays))
            assert len(await asyncio.wait_for(reader.readexactly(len(sent)), 60)) == len(sent)
            writer.close()
        server.close()

    asyncio.run(run())


def test_bytes_sent_before_the_target_is_connected_are_forwarded() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(5))
        await writer.drain()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with Switchboard() as board:
            address = await board.add_line("l", server.sockets[0].getsockname()[:2])
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"early")
            assert await asyncio.wait_for(reader.readexactly(5), 60) == b"early"
            writer.close()
        server.close()

    asyncio.run(run())


@pytest.mark.parametrize("half_closes", [False, True])
def test_a_relay_ends_with_the_connection_that_its_caller_closes(half_closes: bool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(4_096):
            writer.write(chunk)
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with Switchboard() as board:
            address = await board.add_line("l", server.sockets[0].getsockname()[:2])
            for _ in range(3):
                reader, writer = await asyncio.open_connection(*address)
                writer.write(b"ping")
                assert await asyncio.wait_for(reader.readexactly(4), 60) == b"ping"
                if half_closes:
                    writer.write_eof()
                    assert await asyncio.wait_for(reader.read(), 60) == b""
                writer.close()
            await until_true(lambda: board.line("l").open_connections == 0)
            assert board.line("l").accepted == 3
        server.close()

    asyncio.run(run())
