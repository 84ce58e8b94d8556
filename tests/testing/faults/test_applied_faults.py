"""Faults that are applied together, in conflict, and taken back."""

from __future__ import annotations

import socket

import pytest

from signalbox.testing.faults import (
    Delay,
    DropRequest,
    FaultConflict,
    RefuseConnections,
    Stall,
    SwapAddresses,
    WrongNode,
)
from signalbox.testing.faults.applied_faults import FaultSet
from signalbox.testing.faults.fault import address_line
from signalbox.testing.switchboard_thread import SwitchboardThread
from signalbox.testing.wire.request_rule import LineRules

pytestmark = pytest.mark.spec("R7")


@pytest.fixture
def board() -> SwitchboardThread:
    return SwitchboardThread()


def with_lines(board: SwitchboardThread) -> FaultSet:
    for node in (1, 2, 3):
        for bootstrap in (False, True):
            board.add_line(address_line(node, bootstrap), ("127.0.0.1", node), rules=LineRules())
    return FaultSet(board)


def targets(board: SwitchboardThread) -> list[int]:
    return [board.line(address_line(node)).targets[0][1] for node in (1, 2, 3)]


def test_faults_of_different_settings_are_applied_together(board: SwitchboardThread) -> None:
    with board:
        faults = with_lines(board)
        with faults.apply(SwapAddresses(1, 2), Delay(1, 5), DropRequest(api="Produce"), DropRequest(api="Produce")):
            assert targets(board) == [2, 1, 3]
            assert board.line("broker-1").delay_seconds == 0.005
            assert len(faults.applied()) == 4
        assert targets(board) == [1, 2, 3]
        assert board.line("broker-1").delay_seconds == 0
        assert board.line("broker-1").rules == LineRules()
        assert faults.applied() == []


def test_of_faults_in_conflict_none_is_applied(board: SwitchboardThread) -> None:
    with board:
        faults = with_lines(board)
        first = faults.apply(SwapAddresses(1, 2))
        with pytest.raises(FaultConflict, match=r"both change broker-2: where it leads"):
            faults.apply(Stall(3), RefuseConnections(2))
        assert not board.line("broker-3").held
        assert targets(board) == [2, 1, 3]
        first.remove()
        with faults.apply(Stall(3), RefuseConnections(2)):
            assert not board.line("broker-2").listening
        assert board.line("broker-2").listening


def test_one_is_taken_back_while_another_stays(board: SwitchboardThread) -> None:
    with board:
        faults = with_lines(board)
        swapped, named = faults.apply(SwapAddresses(1, 2)), faults.apply(WrongNode(3, is_node=9))
        swapped.remove()
        rules = board.line("broker-3").rules
        assert rules is not None
        assert rules.identity is not None
        assert faults.applied() == [WrongNode(3, is_node=9)]
        named.remove()
        assert rules.identity is None


def test_all_are_taken_back_once(board: SwitchboardThread) -> None:
    with board:
        faults = with_lines(board)
        applied = faults.apply(SwapAddresses(1, 2))
        faults.take_back_all()
        again = faults.apply(SwapAddresses(1, 2))
        applied.remove()  # its faults were taken back before: the new one stays
        assert targets(board) == [2, 1, 3]
        again.remove()
        assert targets(board) == [1, 2, 3]


def test_a_node_that_is_not_there_changes_nothing(board: SwitchboardThread) -> None:
    with board:
        faults = with_lines(board)
        with pytest.raises(ValueError, match="no broker 4"):
            faults.apply(Delay(1, 5), Delay(4, 5))
        assert board.line("broker-1").delay_seconds == 0


def test_a_fault_that_cannot_be_taken_back_keeps_no_other(board: SwitchboardThread) -> None:
    with board:
        faults = with_lines(board)
        applied = faults.apply(SwapAddresses(1, 2), RefuseConnections(3))
        address = board.line("broker-3").address
        with socket.create_server(address), pytest.raises(OSError, match="in use") as raised:
            applied.remove()
        assert raised.value.__notes__ == ["RefuseConnections node=3 could not be taken back"]
        assert targets(board) == [1, 2, 3]
        assert faults.applied() == []
