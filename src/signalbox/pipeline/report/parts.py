"""Pieces of a report as HTML: headings with a sentence of meaning, tiles, figures, tables of figures."""

from __future__ import annotations

import csv
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from io import StringIO
from typing import Any

from signalbox.protocol.api_table import API_TABLE, ApiKey

PASSED = "✓"
MOST_CSV_ROWS = 10_000  # a row of requests has some 100 bytes

_API_NAMES = {key.name: API_TABLE[key].name for key in ApiKey}


def section(title: str, meaning: str) -> tuple[str, str]:
    """A heading and the sentence that says what the section's figures mean."""
    return f"<h2>{escape(title)}</h2>", f"<p class='soft'>{escape(meaning)}</p>"


def tiles(entries: Iterable[tuple[str, str]]) -> str:
    """Cards of a figure and what it counts."""
    cells = "".join(
        f"<div class='tile'><b>{escape(value)}</b><span>{escape(text)}</span></div>" for value, text in entries
    )
    return f"<div class='tiles'>{cells}</div>"


def definitions(entries: Iterable[tuple[str, str]]) -> str:
    """Names with their values, one a line."""
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in entries)}</dl>"


def figure(svg: str, caption: str = "") -> str:
    """A picture and its caption, if it has one."""
    text = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f"<figure>{svg}{text}</figure>"


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """A table of `columns` (those of the first row if None); each cell names its column, for narrow screens."""
    if not rows:
        return "<p class='soft'>None.</p>"
    names = columns or tuple(rows[0])
    head = "".join(f"<th{_kind(rows[0].get(name))}>{escape(_heading(name))}</th>" for name in names)
    body = "".join("<tr>" + "".join(_cell(name, row.get(name)) for name in names) + "</tr>" for row in rows)
    return f"<table><tr class='head'>{head}</tr>{body}</table>"


def csv_link(file_name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A link to the first MOST_CSV_ROWS of `rows` with all their columns as a CSV file, which is inside the page; ""
    without rows."""
    if not rows:
        return ""
    text = StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[:MOST_CSV_ROWS])
    data = b64encode(text.getvalue().encode()).decode()
    name = escape(file_name, quote=True)
    link = f"<a download='{name}' href='data:text/csv;charset=utf-8;base64,{data}'>{name}</a>"
    which = "All" if len(rows) <= MOST_CSV_ROWS else f"The first {MOST_CSV_ROWS:,} of"
    return f"<p class='csv'>{which} {len(rows):,} rows: {link}</p>"


def _heading(name: str) -> str:
    return name.removesuffix("_us").replace("_", " ") + (" ms" if name.endswith("_us") else "")


def _cell(name: str, value: Any) -> str:
    if name.endswith("_us") and isinstance(value, int | float):
        text = f"{value / 1000:,.2f}"
    else:
        text = plain(api_name(str(value)) if name == "api" else value)
    return f"<td{_kind(value)} data-name='{escape(_heading(name), quote=True)}'><span>{escape(text)}</span></td>"


def _kind(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return " class='n'" if number else " class='ok'" if value == PASSED else ""


def api_name(text: str) -> str:
    """Kafka's name of an API, from either form in which brokers write it."""
    return _API_NAMES.get(text, text)


def plain(value: Any) -> str:
    """A value of the figures: numbers with separators, yes and no, ranges of numbers as `from-to`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, list):
        return ", ".join(_range(item) for item in value) or "none"
    return str(value)


def _range(value: Any) -> str:
    if isinstance(value, list) and len(value) == 2:
        first, last = value
        return plain(first) if first == last else f"{plain(first)}-{plain(last)}"
    return plain(value)
