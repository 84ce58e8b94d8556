"""Rows for a person or for a program: a table in a terminal, or JSON with `--json`.

Cells keep their types: a number is a number in JSON, a list of ids is `1,2,3` in a table. A table is as wide as the
terminal, or as wide as necessary in a pipe; long values continue on the next line, and nothing is cut.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from signalbox.common.visible_text import visible


class Listing:
    """Named columns and rows. `title` stands above the table."""

    def __init__(self, *columns: str, title: str = "") -> None:
        self.columns = columns
        self.title = title
        self.rows: list[Sequence[Any]] = []

    def add(self, *cells: Any) -> None:
        self.rows.append(cells)

    def texts(self) -> list[list[str]]:
        """The rows as a table shows them."""
        return [[cell_text(cell) for cell in row] for row in self.rows]

    def as_json(self) -> list[dict[str, Any]]:
        """One object per row; the names of columns with `_` for blanks."""
        names = [json_name(column) for column in self.columns]
        return [dict(zip(names, map(_json_value, row), strict=True)) for row in self.rows]


def cell_text(cell: Any) -> str:
    """A cell as text: nothing for None, `yes` or nothing for a flag, commas between the items of a list. What cannot be
    printed is escaped: a terminal would act on the escape sequences in a name."""
    if cell is None or cell is False:
        return ""
    if cell is True:
        return "yes"
    if isinstance(cell, list | tuple | set | frozenset):
        return visible(",".join(map(str, cell)))
    return visible(str(cell))


def json_name(column: str) -> str:
    """The key of a column in JSON: lower case, `_` for blanks and dashes."""
    return column.lower().replace(" ", "_").replace("-", "_")


def _json_value(cell: Any) -> Any:
    if cell is None or isinstance(cell, bool | int | float | str):
        return cell
    if isinstance(cell, Mapping):
        return {str(key): _json_value(value) for key, value in cell.items()}
    if isinstance(cell, list | tuple | set | frozenset):
        return [_json_value(item) for item in cell]
    return str(cell)


def json_text(value: Any) -> str:
    """One JSON document on one line."""
    return json.dumps(_document(value), ensure_ascii=False)


def _document(value: Any) -> Any:
    if isinstance(value, Listing):
        return value.as_json()
    if isinstance(value, Mapping):
        return {json_name(str(key)): _document(item) for key, item in value.items()}
    return _json_value(value)
