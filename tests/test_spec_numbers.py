"""Tests are selected by the numbers of the specification that they show, and each number that is implemented has a
test.

The list of unimplemented numbers equals the requirement rows `planned` of the conformance table. Neither this list nor
the API rows `planned` ever grow.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from signalbox.broker.conformance import read_conformance
from tests.spec_numbers import NUMBERS, UNBUILT, mark_by_number, marks

_TESTS = Path(__file__).parent
_CONFORMANCE = _TESTS.parent / "docs" / "conformance.toml"

_UNBUILT_AT_FIRST = frozenset(
    [
        *("C5", "R8", "R9", "R10"),
        *("D2", "D3", "D5", "D6", "D9", "D10", "D11", "D12", "D13", "D14", "D15", "D16"),
        *("P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12"),
    ]
)
"""The first version of `UNBUILT`. It does not change."""

_BUILT_SINCE = frozenset(
    [
        *("D2", "D3", "D5", "D6", "D12", "D16"),
        *("P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P12"),
        *("R8", "R9", "R10"),
    ]
)
"""Points of that list that were built later. A point that was built once cannot become a planned one."""

_PLANNED_APIS_AT_FIRST = frozenset(
    [
        *("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "WriteTxnMarkers", "TxnOffsetCommit"),
        *("DescribeProducers", "DescribeTransactions", "ListTransactions"),
        *("ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "GetTelemetrySubscriptions", "PushTelemetry"),
        *("ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge"),
        *("InitializeShareGroupState", "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState"),
        *("ReadShareGroupStateSummary", "DescribeShareGroupOffsets", "AlterShareGroupOffsets"),
        *("DeleteShareGroupOffsets", "StreamsGroupHeartbeat", "StreamsGroupDescribe"),
        "StreamsGroupTopologyDescriptionUpdate",
    ]
)
"""The first API rows `planned` of the conformance table. It does not change either."""

_APIS_SERVED_SINCE = frozenset(
    (
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "EndTxn",
        "WriteTxnMarkers",
        "TxnOffsetCommit",
        "DescribeProducers",
        "DescribeTransactions",
        "ListTransactions",
    )
)
"""APIs of that list that were served later. An API that was served once cannot become a planned one."""


def _numbers_shown() -> set[str]:
    """The numbers in `pytest.mark.spec(...)` anywhere in the tests."""
    shown: set[str] = set()
    for file in _TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
                shown |= {str(each.value) for each in node.args if isinstance(each, ast.Constant)}
    return shown


def test_every_point_that_is_built_is_shown_by_a_test() -> None:
    assert set(NUMBERS) - _numbers_shown() - UNBUILT == set()


def test_every_test_of_the_doctor_is_selected_by_its_number() -> None:
    """A check that is removed has to be noticed by `pytest -m spec_R8`."""
    files = {file.relative_to(_TESTS).as_posix(): file.read_text() for file in (_TESTS / "doctor").rglob("test_*.py")}
    unmarked = [name for name, text in files.items() if not re.search(r'^pytestmark = .*spec\(.*"R8"', text, re.M)]
    assert unmarked == []


def test_what_is_unbuilt_is_what_the_conformance_table_plans() -> None:
    rows = read_conformance(_CONFORMANCE).requirements
    assert {row.name.partition(" ")[0] for row in rows if row.status == "planned"} == UNBUILT


def test_what_is_unbuilt_only_shrinks() -> None:
    assert _BUILT_SINCE <= _UNBUILT_AT_FIRST <= set(NUMBERS)
    assert UNBUILT == _UNBUILT_AT_FIRST - _BUILT_SINCE


def test_the_planned_apis_only_shrink() -> None:
    rows = read_conformance(_CONFORMANCE).apis
    assert _APIS_SERVED_SINCE <= _PLANNED_APIS_AT_FIRST <= {row.name for row in rows}
    assert {row.name for row in rows if row.status == "planned"} == _PLANNED_APIS_AT_FIRST - _APIS_SERVED_SINCE


class FakeItem:
    """The part of a test that carries marks."""

    nodeid = "tests/test_x.py::test_x"

    def __init__(self, *numbers: str) -> None:
        self._mark = pytest.mark.spec(*numbers).mark
        self.added: set[str] = set()

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [self._mark] if name == "spec" else []

    def add_marker(self, name: str) -> None:
        self.added.add(name)


def test_a_test_is_marked_by_number_and_by_part() -> None:
    item = FakeItem("F5", "M3", "D12")
    mark_by_number([item])  # type: ignore[list-item]
    assert item.added == {"spec_F5", "spec_F", "spec_M3", "spec_M", "spec_D12", "spec_D"}
    assert item.added <= {mark.partition(":")[0] for mark in marks()}


def test_a_number_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match=r"tests/test_x.py::test_x: the specification has no point 'F18'"):
        mark_by_number([FakeItem("F18")])  # type: ignore[list-item]
