"""The lines that a fault of a node concerns."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.testing.faults.fault import address_line, claims_of_node, line_at, lines_of, readers_of
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.wire.request_rule import LineRules

pytestmark = pytest.mark.spec("R7")


def test_a_node_has_two_lines_and_one_set_of_rules_for_each() -> None:
    async def run() -> None:
        async with Switchboard() as board:
            for node in (1, 12):
                for bootstrap in (False, True):
                    await board.add_line(address_line(node, bootstrap), rules=LineRules())
            assert [line.name for line in lines_of(board, 12)] == ["broker-12", "bootstrap-12"]
            assert readers_of(board, 1).rules == [line.rules for line in lines_of(board, 1)]
            assert len(readers_of(board, None).rules) == 4
            with pytest.raises(ValueError, match="no broker 2; there are 1, 12"):
                lines_of(board, 2)

    asyncio.run(run())


def test_a_node_may_have_its_advertised_address_alone() -> None:
    async def run() -> None:
        async with Switchboard() as board:
            await board.add_line(address_line(1), rules=LineRules())
            assert [line.name for line in lines_of(board, 1)] == ["broker-1"]
            with pytest.raises(ValueError, match="broker 1 has one address"):
                line_at(board, 1, bootstrap=True)

    asyncio.run(run())


def test_lines_without_rules_are_those_in_front_of_tls() -> None:
    async def run() -> None:
        async with Switchboard() as board:
            await board.add_line(address_line(1))
            await board.add_line(address_line(1, bootstrap=True))
            with pytest.raises(ValueError, match="TLS"):
                readers_of(board, None)

    asyncio.run(run())


def test_claims_name_both_lines() -> None:
    assert claims_of_node(3, "delay") == {"broker-3: delay", "bootstrap-3: delay"}
