"""The report: one page that loads nothing from elsewhere and takes whatever the figures hold."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from signalbox.cli.demo.page import write_page
from signalbox.cli.demo.stage import Check, Stage

FACTS: dict[str, Any] = {
    "control_latency_ms": {"idle": [0.1, 0.2], "while producing": [0.5, 2.0]},
    "carriers": [("UA", 10), ("B6", 5)],
    "produce": {"records": 15, "bytes": 1000, "seconds": 0.5},
    "misroute": {"rebootstraps": 1},
    "failover": {"gap_s": 0.25},
}
ROW = {"broker_id": 1, "client_id": "<script>alert(1)</script>", "requests": 1234567, "p50_us": 1.5, "reason": None}
TOTALS = {"forwarded": 1, "refused": 2, "misrouted": 3}


class Reader(HTMLParser):
    """Tags, and everything that would be fetched."""

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
    figures = dict.fromkeys(("requests", "forwarded", "refused", "misrouted"), rows)
    page = write_page(stage, {**figures, "totals": TOTALS, "completeness": {"table_rows": 7, "brokers": rows}})
    text = page.read_text()
    reader = Reader()
    reader.feed(text)
    assert (reader.loaded, "script" in reader.tags) == ([], False)
    assert reader.tags.count("svg") == 2
    assert "claim &amp; more" in text
    assert ("1,234,567" in text) == bool(rows)
