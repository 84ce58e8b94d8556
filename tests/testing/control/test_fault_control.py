"""Faults by request."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from signalbox.testing.control.fault_control import FaultControl
from signalbox.testing.faults.fault import address_line
from signalbox.testing.switchboard_thread import SwitchboardThread

pytestmark = pytest.mark.spec("R7")

SWAP = {"do": "apply", "fault": "SwapAddresses", "fields": {"one": "1", "other": "2"}}
STALL = {"do": "apply", "fault": "Stall", "fields": {"node": "2"}}


@pytest.fixture
def board() -> Iterator[SwitchboardThread]:
    with SwitchboardThread() as board:
        for node in (1, 2):
            board.add_line(address_line(node), ("127.0.0.1", 1000 + node))
        yield board


@pytest.fixture
def control(board: SwitchboardThread) -> FaultControl:
    return FaultControl(board)


def leads_to(control: FaultControl) -> list[list[object]]:
    return [row["leads_to"] for row in control.execute({"do": "list"})["addresses"]]


def test_faults_have_numbers_and_are_taken_back_by_them(control: FaultControl, board: SwitchboardThread) -> None:
    assert control.execute(SWAP) == {"number": 1, "fault": "SwapAddresses one=1 other=2"}
    assert control.execute(STALL) == {"number": 2, "fault": "Stall node=2"}
    assert leads_to(control) == [[2], [1]]
    assert board.line("broker-2").held
    assert control.execute({"do": "clear", "numbers": [1]}) == {"cleared": [1]}
    assert leads_to(control) == [[1], [2]]
    assert control.execute({"do": "list"})["faults"] == [{"number": 2, "fault": "Stall node=2"}]
    assert control.execute({"do": "clear", "numbers": [2, 2]}) == {"cleared": [2]}
    assert not board.line("broker-2").held
    assert control.execute(SWAP)["number"] == 3


def test_the_addresses(control: FaultControl, board: SwitchboardThread) -> None:
    elsewhere = {"do": "apply", "fault": "SendElsewhere", "fields": {"node": "1", "to": "127.0.0.1:9"}}
    closed = {"do": "apply", "fault": "RefuseConnections", "fields": {"node": "2"}}
    assert "number" in control.execute(elsewhere)
    assert "number" in control.execute(closed)
    host, port = board.line("broker-1").address
    first = control.execute({"do": "list"})["addresses"][0]
    assert first == {
        "broker": 1,
        "listener": "CLIENT",
        "address": f"{host}:{port}",
        "leads_to": ["127.0.0.1:9"],
        "open": 0,
        "accepted": 0,
    }
    assert leads_to(control) == [["127.0.0.1:9"], []]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"do": "apply", "fault": "Nothing", "fields": {}}, "there is no fault 'Nothing'"),
        ({"do": "apply", "fault": "Stall", "fields": {"node": "3"}}, "there is no broker 3; there are 1, 2"),
        ({"do": "apply", "fault": "Stall", "fields": {"node": "x"}}, "node is a whole number, not 'x'"),
        ({"do": "apply", "fault": "DropRequest", "fields": {"api": "Fetch"}}, "the fault reads requests"),
        ({"do": "clear", "numbers": [4]}, "there is no fault 4; applied are: none"),
        ({"do": "clear", "numbers": 5}, "numbers of faults are a list of numbers, not 5"),
        ({"do": "clear", "numbers": ["1"]}, "numbers of faults are a list of numbers"),
        ({"do": "nothing"}, "there is no such request"),
        (7, "there is no such request: 7"),
    ],
)
def test_what_is_wrong_is_named(control: FaultControl, request_: object, error: str) -> None:
    assert error in control.execute(request_)["error"]
    assert control.execute({"do": "list"})["faults"] == []


def test_a_fault_that_meets_another_one_is_rejected(control: FaultControl) -> None:
    control.execute(SWAP)
    assert "both change broker-1" in control.execute(SWAP)["error"]


def test_a_fault_that_cannot_be_taken_back_is_named_and_keeps_no_other(
    control: FaultControl, board: SwitchboardThread
) -> None:
    control.execute(STALL)
    control.execute({"do": "apply", "fault": "RefuseConnections", "fields": {"node": "1"}})
    with socket.create_server(board.line("broker-1").address):
        answer = control.execute({"do": "clear", "numbers": [1, 2]})
    assert answer["error"].startswith("2: ")
    assert "RefuseConnections node=1 could not be taken back" in answer["error"]
    assert control.execute({"do": "list"})["faults"] == []
    assert not board.line("broker-2").held
