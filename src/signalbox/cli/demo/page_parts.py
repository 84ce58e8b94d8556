"""Pieces of the demo's report as HTML: headings with a sentence of meaning, tiles, figures, tables of figures."""

from __future__ import annotations

import csv
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from io import StringIO
from typing import Any

from signalbox.cli.demo.wording import api_name, plain
from signalbox.common.report_style import REPORT_STYLE

PASSED = "✓"

STYLE = f"""{REPORT_STYLE}
a {{ color: var(--accent); }} p.csv {{ margin: -.6rem 0 1rem; font-size: .85rem; }}
.pass {{ color: var(--good); font-weight: 600; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 1.5rem; font-size: .88rem; }}
dt {{ color: var(--soft); }} dd {{ margin: 0; }}
@media (min-width: 60.01rem) {{ .tiles {{ grid-template-columns: repeat(4, 1fr); }} }}
.band {{ fill: var(--band); }} .box {{ fill: var(--card); stroke: var(--soft); }} .grid {{ stroke: var(--line); }}
.path {{ stroke: var(--soft); stroke-dasharray: 5 5; }} .swapped {{ stroke: var(--warm); stroke-width: 2.5; }}
"""


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


def figure(svg: str, caption: str) -> str:
    """A picture and its caption."""
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str] | None = None) -> str:
    """A table of `columns` (those of the first row if None); each cell names its column, for narrow screens."""
    if not rows:
        return "<p class='soft'>None.</p>"
    names = columns or tuple(rows[0])
    head = "".join(f"<th{_kind(rows[0].get(name))}>{escape(_heading(name))}</th>" for name in names)
    body = "".join("<tr>" + "".join(_cell(name, row.get(name)) for name in names) + "</tr>" for row in rows)
    return f"<table><tr class='head'>{head}</tr>{body}</table>"


def csv_link(file_name: str, rows: Sequence[dict[str, Any]]) -> str:
    """A link to all of `rows` with all their columns as a CSV file, which is inside the page; "" without rows."""
    if not rows:
        return ""
    text = StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    data = b64encode(text.getvalue().encode()).decode()
    name = escape(file_name, quote=True)
    link = f"<a download='{name}' href='data:text/csv;charset=utf-8;base64,{data}'>{name}</a>"
    return f"<p class='csv'>All {len(rows):,} rows: {link}</p>"


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
