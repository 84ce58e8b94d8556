"""Tests are chosen by the numbers of the specification that they show, and no number of the built parts lacks one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.spec_numbers import NUMBERS, PARTS, mark_by_number, marks

_TESTS = Path(__file__).parent
_SHOWN_LATER = {"R8"}
"""Points that no test shows yet. One that is shown is taken out."""


def _numbers_shown() -> set[str]:
    """What stands in `pytest.mark.spec(...)` anywhere in the tests."""
    shown: set[str] = set()
    for file in _TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
                shown |= {str(each.value) for each in node.args if isinstance(each, ast.Constant)}
    return shown


def test_every_point_is_shown_by_a_test() -> None:
    points = {number for number in NUMBERS if number[0] in PARTS}
    assert points - _numbers_shown() == _SHOWN_LATER


class FakeItem:
    """As much of a test as is marked."""

    nodeid = "tests/test_x.py::test_x"

    def __init__(self, *numbers: str) -> None:
        self._mark = pytest.mark.spec(*numbers).mark
        self.added: set[str] = set()

    def iter_markers(self, name: str) -> list[pytest.Mark]:
        return [self._mark] if name == "spec" else []

    def add_marker(self, name: str) -> None:
        self.added.add(name)


def test_a_test_is_marked_by_number_and_by_part() -> None:
    item = FakeItem("F5", "M3", "D")
    mark_by_number([item])  # type: ignore[list-item]
    assert item.added == {"spec_F5", "spec_F", "spec_M3", "spec_M", "spec_D"}
    assert item.added <= {mark.partition(":")[0] for mark in marks()}


def test_a_number_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match=r"tests/test_x.py::test_x: the specification has no point 'F18'"):
        mark_by_number([FakeItem("F18")])  # type: ignore[list-item]
