"""Applies and takes back faults as requests say, which are JSON objects: the commands of `signalbox drill`.

    {"do": "apply", "fault": "Delay", "fields": {"node": "1", "delay_ms": "50"}}
        {"number": 1, "fault": "Delay node=1 delay_ms=50"}
    {"do": "list"}
        {"faults": [{"number", "fault"}],
         "addresses": [{"broker", "listener", "address", "leads_to", "open", "accepted"}]}
    {"do": "clear", "numbers": [1]}, without numbers all
        {"cleared": [1]}

A request that cannot be executed has the response `{"error": "..."}`, in words.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from signalbox.client.failures import ClientFailure
from signalbox.protocol.error_table import KafkaError
from signalbox.testing.faults.applied_faults import AppliedFaults, FaultSet
from signalbox.testing.faults.fault import line_at, listeners_of, node_ids
from signalbox.testing.faults.fault_text import fault_of, text_of
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_thread import SwitchboardThread

JsonObject = dict[str, Any]

# What applying a fault and taking it back may raise.
FAILURES = (ValueError, ClientFailure, KafkaError, OSError)


def words_of(failure: BaseException) -> str:
    """The failure in words."""
    return "; ".join([str(failure) or "the brokers have not done it in a minute", *getattr(failure, "__notes__", ())])


class FaultControl:
    """The faults of one switchboard, each with a number."""

    def __init__(self, board: SwitchboardThread) -> None:
        self._board = board
        self._faults = FaultSet(board)
        self._numbers = itertools.count(1)
        self._applied: dict[int, tuple[str, AppliedFaults]] = {}

    def execute(self, request: Any) -> JsonObject:
        """The response to one request."""
        try:
            match request:
                case {"do": "apply", "fault": str(name), "fields": dict(values)}:
                    return self._apply(name, values)
                case {"do": "list"}:
                    return self._list()
                case {"do": "clear"}:
                    return self._clear(request.get("numbers", []))
        except FAILURES as error:
            return {"error": words_of(error)}
        return {"error": f"there is no such request: {request}"}

    def _apply(self, name: str, values: Mapping[str, str]) -> JsonObject:
        fault = fault_of(name, values)
        applied = self._faults.apply(fault)
        number = next(self._numbers)
        self._applied[number] = text_of(fault), applied
        return {"number": number, "fault": text_of(fault)}

    def _clear(self, numbers: Any) -> JsonObject:
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise ValueError(f"numbers of faults are a list of numbers, not {numbers}")
        numbers = sorted({*numbers} or self._applied)
        for number in numbers:
            if number not in self._applied:
                applied = ", ".join(map(str, self._applied)) or "none"
                raise ValueError(f"there is no fault {number}; applied are: {applied}")
        failures = []
        for number in reversed(numbers):
            try:
                self._applied.pop(number)[1].remove()
            except FAILURES as error:
                failures.append(f"{number}: {words_of(error)}")
        return {"error": "; ".join(failures)} if failures else {"cleared": numbers}

    def _list(self) -> JsonObject:
        async def addresses(board: Switchboard) -> list[JsonObject]:
            return [
                _address(board, node, listener) for node in node_ids(board) for listener in listeners_of(board, node)
            ]

        faults = [{"number": number, "fault": text} for number, (text, _) in self._applied.items()]
        return {"faults": faults, "addresses": self._board.execute(addresses)}


def _address(board: Switchboard, node: int, listener: str) -> JsonObject:
    """The advertised address of a broker on a listener: where it leads, and its connections."""
    line = line_at(board, node, listener=listener)
    homes = {each: line_at(board, each, listener=listener).home for each in node_ids(board)}
    owners = {tuple(target): each for each, home in homes.items() for target in home}
    return {
        "broker": node,
        "listener": listener,
        "address": _text(line.address),
        "leads_to": [owners.get(target, _text(target)) for target in line.targets] if line.listening else [],
        "open": line.open_connections,
        "accepted": line.accepted,
    }


def _text(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"
