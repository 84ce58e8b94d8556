"""Connections to a wrong target are noted, with the times of their first bytes and of their end."""

from __future__ import annotations

import asyncio

from bench.misroute.timed_switchboard import TimedLine, TimedSwitchboard

from tests.doctor.hostile import server, silent
from tests.waiting import until_true


def test_only_connections_on_a_wrong_route_are_noted() -> None:
    async def run() -> None:
        async with server(silent) as home, server(silent) as elsewhere, TimedSwitchboard() as board:
            address = await board.add_line("1", home)
            line = board.line("1")
            assert isinstance(line, TimedLine)
            _, right = await asyncio.open_connection(*address)
            await until_true(lambda: line.open_connections == 1)
            board.rewire("1", elsewhere)
            _, wrong = await asyncio.open_connection(*address)
            wrong.write(b"request")
            await until_true(lambda: bool(line.wrong_routes and line.wrong_routes[0].first_request_ns))
            assert line.wrong_routes[0].closed_ns == 0
            for writer in (right, wrong):
                writer.close()
            await until_true(lambda: line.wrong_routes[0].closed_ns > 0)
            assert line.wrong_routes[0].closed_ns >= line.wrong_routes[0].first_request_ns
            assert len(line.wrong_routes) == 1

    asyncio.run(run())
