"""A step fails if it does not do what the page shows, and the report says what differs."""

from __future__ import annotations

import pytest
from tools.tour.expected import fault_of, matches
from tools.tour.page import Command
from tools.tour.session import Result


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        (["one", "two"], "one\ntwo\n"),
        (["id ... of 3"], "id 17 of 3"),
        (["..."], ""),
        (["...", "last"], "first\nsecond\nlast"),
        (["first", "...", "last"], "first\nlast"),
        (["│ 1 │ up │"], "│ 1      │ up    │"),
        (["┏━━━━┳━━┓"], "┏━━━━━━━━┳━━━━━━━┓"),
        (["a[b]*"], "a[b]*"),
    ],
)
def test_what_matches(expected: list[str], printed: str) -> None:
    assert matches(expected, printed)


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        (["one"], "one\ntwo"),
        (["one", "two"], "one"),
        (["id ... of 3"], "id 17\nof 3"),
        (["a.c"], "abc"),
        (["│ 1 │ up │"], "│ 1 │ down │"),
        (["one", "..."], "two"),
    ],
)
def test_what_does_not(expected: list[str], printed: str) -> None:
    assert not matches(expected, printed)


@pytest.mark.parametrize(
    ("command", "result", "fault"),
    [
        (Command("a", 1, ("x",)), Result("x\n", 0, 1.0), ""),
        (Command("a", 1), Result("anything", 0, 1.0), ""),
        (Command("a", 1, exit_code=1, within_s=1), Result("", 1, 0.9), ""),
        (Command("a", 1), Result("why", 1, 1.0), "exit code 1, the page has 0\nwhy"),
        (Command("a", 1), Result("why", None, 600.0), "still running after 600 s\nwhy"),
        (Command("a", 1, ("x",)), Result("y\n", 0, 1.0), "the page shows\nx\n  it printed\ny"),
        (
            Command("a", 1, within_s=1),
            Result("", 0, 3.0),
            "took 3.0 s, the page has 1 s (this machine: 2.0 times that)",
        ),
        (Command("a", 1, within_s=1), Result("", 0, 1.9), ""),
    ],
)
def test_what_differs_from_the_page(command: Command, result: Result, fault: str) -> None:
    assert fault_of(command, result, slowness=2.0) == fault
