"""docs/metrics.md and the dashboards that it names."""

from __future__ import annotations

import re

import pytest

from signalbox.server.metrics.metric_table import METRIC_ROWS, PAGE_NAMES
from signalbox.server.metrics.metric_table.page import Board, metrics_page, read_boards

BOARDS = read_boards()


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name.split(",")[0])
def test_what_boards_ask_for_is_there_or_has_a_reason_not_to_be(board: Board) -> None:
    assert [name for name in board.exists if name not in PAGE_NAMES] == []
    assert [name for name in board.absent if name in PAGE_NAMES] == []
    assert not set(board.exists) & set(board.absent)
    assert all(reason.endswith(".") and len(reason) < 130 for reason in board.absent.values())


def test_names_that_reasons_give_instead_are_there() -> None:
    instead = {
        name
        for board in BOARDS
        for reason in board.absent.values()
        for name in re.findall(r"\b(?:kafka|process)_[a-z0-9_]+", reason)
    }
    assert instead
    assert instead <= PAGE_NAMES


def test_every_metric_has_a_line() -> None:
    page = metrics_page()
    assert [row.names[0] for row in METRIC_ROWS if page.count(f"| `{row.names[0]}` |") != 1] == []
