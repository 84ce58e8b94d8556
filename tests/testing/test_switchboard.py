from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from signalbox.testing.switchboard import Switchboard
from tests.waiting import until_true

pytestmark = pytest.mark.spec("R7")

Greeter = tuple[str, int]


async def greeter(name: bytes) -> asyncio.Server:
    """A server that sends its name, then echoes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(name)
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            return
        finally:
            writer.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0)


async def dial(address: tuple[str, int]) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*address)


async def who(address: tuple[str, int]) -> bytes:
    """The name that the server at an address sends; b"" if the connection is cut."""
    reader, writer = await dial(address)
    try:
        return await asyncio.wait_for(reader.read(1), 60)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def with_board(test: Callable[[Switchboard, dict[str, Greeter], dict[str, Greeter]], Awaitable[None]]) -> None:
    """Runs `test(board, lines, homes)` with two greeters, A and B, each behind a line of the same name."""

    async def run() -> None:
        servers = {name: await greeter(name.encode()) for name in "AB"}
        homes = {name: server.sockets[0].getsockname()[:2] for name, server in servers.items()}
        async with Switchboard() as board:
            lines = {name: await board.add_line(name, home) for name, home in homes.items()}
            await test(board, lines, homes)
        for server in servers.values():
            server.close()

    asyncio.run(run())


def test_lines_lead_home_until_they_are_swapped_and_again_when_restored() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        assert [await who(lines[name]) for name in "AB"] == [b"A", b"B"]
        board.swap("A", "B")
        assert [await who(lines[name]) for name in "AB"] == [b"B", b"A"]
        await board.restore()
        assert [await who(lines[name]) for name in "AB"] == [b"A", b"B"]
        assert board.names() == ("A", "B")
        assert board.line("A").accepted == 3

    with_board(test)


def test_rewiring_leaves_open_connections_where_they_lead() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        reader, writer = await dial(lines["A"])
        assert await reader.read(1) == b"A"
        board.rewire("A", homes["B"])
        assert await who(lines["A"]) == b"B"
        writer.write(b"still there?")
        assert await reader.readexactly(12) == b"still there?"
        board.sever("A")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)
        assert board.line("A").open_connections == 0
        writer.close()

    with_board(test)


def test_several_targets_are_used_round_robin() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        board.rewire("A", homes["A"], homes["B"])
        assert [await who(lines["A"]) for _ in range(4)] == [b"A", b"B", b"A", b"B"]
        board.rewire("A")
        assert await who(lines["A"]) == b""

    with_board(test)


def test_a_closed_line_refuses_connections_and_reopens_at_the_same_address() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        await board.refuse_connections("A")
        with pytest.raises(ConnectionRefusedError):
            await dial(lines["A"])
        assert await who(lines["B"]) == b"B"
        await board.restore("A")
        assert await who(lines["A"]) == b"A"

    with_board(test)


def test_a_black_hole_takes_everything_and_gives_it_back_when_restored() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        board.blackhole("A")
        reader, writer = await dial(lines["A"])
        writer.write(b"hello")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.read(1), 0.1)
        await board.restore("A")
        assert await asyncio.wait_for(reader.readexactly(6), 60) == b"Ahello"
        writer.close()

    with_board(test)


def test_a_slow_line_keeps_the_order() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        board.delay("A", 40)
        loop = asyncio.get_running_loop()
        reader, writer = await dial(lines["A"])
        started = loop.time()
        assert await reader.read(1) == b"A"
        assert loop.time() - started >= 0.03
        for number in range(20):
            writer.write(b"%02d" % number)
            await asyncio.sleep(0)
        started = loop.time()
        assert await reader.readexactly(40) == b"".join(b"%02d" % number for number in range(20))
        writer.close()

    with_board(test)


def test_large_transfers_are_passed_on_whole() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        reader, writer = await dial(lines["A"])
        assert await reader.read(1) == b"A"
        sent = bytes(range(256)) * 20_000
        writer.write(sent)
        assert await asyncio.wait_for(reader.readexactly(len(sent)), 60) == sent
        writer.close()

    with_board(test)


def test_a_target_that_is_not_there_cuts_the_caller() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        board.rewire("A", ("127.0.0.1", 1))
        assert await who(lines["A"]) == b""
        board.set_home("A", homes["B"])
        assert await who(lines["A"]) == b"B"

    with_board(test)


def test_two_lines_cannot_have_one_name() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        with pytest.raises(ValueError, match="a line A already"):
            await board.add_line("A")

    with_board(test)


def test_a_muted_line_forwards_requests_and_holds_responses() -> None:
    async def run() -> None:
        received = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert await reader.readexactly(4) == b"make"
            received.set()
            writer.write(b"made")
            await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with Switchboard() as board:
            reader, writer = await dial(await board.add_line("A", server.sockets[0].getsockname()[:2]))
            board.mute("A")
            writer.write(b"make")
            await asyncio.wait_for(received.wait(), 60)
            answer = asyncio.ensure_future(reader.readexactly(4))
            await until_true(lambda: any(relay._to_caller._chunks for relay in board._lines["A"].relays))
            assert not answer.done()
            await board.restore()
            assert await asyncio.wait_for(answer, 60) == b"made"
            writer.close()
        server.close()

    asyncio.run(run())


def test_a_line_changes_its_target_after_some_connections() -> None:
    async def test(board: Switchboard, lines: dict[str, Greeter], homes: dict[str, Greeter]) -> None:
        board.rewire_after("A", 2, homes["B"])
        assert [await who(lines["A"]) for _ in range(4)] == [b"A", b"A", b"B", b"B"]
        await board.restore("A")
        assert await who(lines["A"]) == b"A"

    with_board(test)
