"""The report: one page that loads nothing from other addresses and accepts any figures."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from signalbox.cli.demo.page import page_faults, write_page
from signalbox.cli.demo.stage import Check, Stage

FACTS: dict[str, Any] = {
    "control_latency_ms": {"idle": [0.1, 0.2], "while producing": [0.5, 2.0]},
    "carriers": [("UA", 10), ("B6", 5)],
    "produce": {"records": 15, "bytes": 1000, "seconds": 0.5},
    "misroute": {"rebootstraps": 1},
    "failover": {"gap_s": 0.25},
}
ROW = {"broker_id": 1, "client_id": "<script>alert(1)</script>", "requests": 1234567, "p50_us": 1.5, "reason": None}
TOTALS = {"forwarded": 1, "rejected": 2, "misrouted": 3}


class Reader(HTMLParser):
    """Collects the tags, and all addresses from which a browser would load something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [value or "" for name, value in attrs if name in ("src", "href")]


@pytest.mark.parametrize("rows", [[], [ROW]])
def test_the_page(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    stage = Stage(Console(file=io.StringIO()), tmp_path, None, None)  # type: ignore[arg-type]
    stage.facts = FACTS
    stage.checks = [Check("step", "claim & more", "<seen>")]
    figures = dict.fromkeys(("requests", "forwarded", "rejected", "misrouted"), rows)
    page = write_page(
        stage, {**figures, "totals": TOTALS, "completeness": {"table_rows": 7, "missing_events": 0, "brokers": rows}}
    )
    text = page.read_text()
    reader = Reader()
    reader.feed(text)
    assert (reader.loaded, "script" in reader.tags) == ([], False)
    assert page_faults(page, stage) == []
    assert reader.tags.count("svg") == 2
    assert "claim &amp; more" in text
    assert ("1,234,567" in text) == bool(rows)
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC on .*Python 3\..*signalbox \d.*pipeline profile", text)
    assert ("<th>p50 ms</th>" in text) == bool(rows)


def written(folder: Path, **facts: Any) -> tuple[Stage, Path]:
    stage = Stage(Console(file=io.StringIO()), folder, None, None)  # type: ignore[arg-type]
    stage.facts = FACTS | facts
    stage.checks = [Check("step", "claim & more", "seen")]
    row = {"broker_id": 2, "broker_epoch": 1234, "gaps": [[3, 4], [8, 8]], "whole": False, "duplicates": 0}
    sequences = [row, {**row, "gaps": [], "whole": True}]
    names = ("requests", "forwarded", "rejected", "misrouted")
    lists = {name: [{"api": "API_VERSIONS", "requests": 1}] for name in names}
    completeness = {"table_rows": 7, "missing_events": 3, "brokers": sequences}
    return stage, write_page(stage, {**lists, "totals": TOTALS, "completeness": completeness})


def test_values_are_written_for_readers(tmp_path: Path) -> None:
    _, page = written(tmp_path)
    text = page.read_text()
    for python in ("[[", "[]", "True", "False", "None<", "{'", "API_VERSIONS"):
        assert python not in text, python
    for plain in (
        "3-4, 8",
        ">none<",
        ">yes<",
        ">no<",
        "ApiVersions",
        "7</b><span>audit events in the table, 3 missing",
    ):
        assert plain in text, plain


def test_the_caption_counts_the_dots_and_the_round_trips(tmp_path: Path) -> None:
    latency = {"idle": [1.0], "while producing": [float(n) for n in range(1, 1000)]}
    _, page = written(tmp_path, control_latency_ms=latency)
    text = page.read_text()
    assert "idle: 1 round trip; while producing: 999 round trips. At most 400 evenly chosen dots a line" in text
    assert "every request" not in text


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda text: text.replace("claim &amp; more", "claim"), "not shown: claim & more"),
        (lambda text: text.replace("<h1>", "<img src='//else.where/x.png'><h1>"), "loaded from elsewhere: src="),
        (lambda text: text[:-40], "the page is cut short"),
    ],
)
def test_what_is_missing_from_a_page_is_reported(tmp_path: Path, change: Callable[[str], str], fault: str) -> None:
    stage, page = written(tmp_path)
    page.write_text(change(page.read_text()))
    assert fault in page_faults(page, stage)
