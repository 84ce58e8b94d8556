"""Tables in a terminal and in a pipe: nothing is cut, and a line is never wider than the terminal."""

from __future__ import annotations

import pytest

from signalbox.cli.shell.table import encodes_lines, table_lines, text_width

ROWS = [["flights", "127.0.0.1:19092"], ["a", "b"]]


def test_as_wide_as_its_cells() -> None:
    assert list(table_lines(["name", "address"], ROWS, None)) == [
        "┏━━━━━━━━━┳━━━━━━━━━━━━━━━━━┓",
        "┃ name    ┃ address         ┃",
        "┡━━━━━━━━━╇━━━━━━━━━━━━━━━━━┩",
        "│ flights │ 127.0.0.1:19092 │",
        "│ a       │ b               │",
        "└─────────┴─────────────────┘",
    ]


def test_without_rows_there_is_the_heading() -> None:
    assert list(table_lines(["n"], [], None, ascii_only=True)) == ["+---+", "| n |", "+---+", "+---+"]


def test_the_widest_column_is_folded_and_keeps_every_character() -> None:
    lines = list(table_lines(["name", "address"], ROWS, 21))
    assert lines[3:6] == ["│ flights │ 127.0.0 │", "│         │ .1:1909 │", "│         │ 2       │"]
    assert {len(line) for line in lines} == {21}


def test_a_text_is_folded_at_its_blanks() -> None:
    lines = list(table_lines(["t"], [["one two three"]], 11, ascii_only=True))
    assert lines[3:-1] == ["| one two |", "| three   |"]


def test_lines_of_a_cell() -> None:
    assert list(table_lines(["t"], [["a\nb"]], None, ascii_only=True))[3:-1] == ["| a |", "| b |"]


@pytest.mark.parametrize("width", range(1, 60, 7))
def test_any_width(width: int) -> None:
    cells = ["a" * 30, "bb cc dd " * 4, "名前" * 9, "", "e"]
    lines = list(table_lines(list("12345"), [cells], width))
    assert len({text_width(line) for line in lines}) == 1
    assert text_width(lines[0]) <= max(width, 5 * 7 + 1)
    drawn = ["".join(line.split("│")[number + 1].strip() for line in lines if "│" in line) for number in range(5)]
    assert drawn == [cell.replace(" ", "") if "b" not in cell else drawn[1] for cell in cells]
    assert drawn[1].replace(" ", "") == cells[1].replace(" ", "")


def test_wide_and_combining_characters() -> None:
    assert [text_width(text) for text in ("ab", "名前", "e\u0301", "")] == [2, 4, 1, 0]


@pytest.mark.parametrize(("encoding", "has"), [("utf-8", True), ("ascii", False), ("latin-1", False), (None, False)])
def test_an_encoding_without_lines(encoding: str | None, has: bool) -> None:
    assert encodes_lines(encoding) is has
