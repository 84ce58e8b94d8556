"""The report: one page that loads nothing from other addresses and accepts any figures."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from signalbox.cli.demo.page import page_faults, write_page
from signalbox.cli.demo.stage import Stage
from tests.cli.demo.samples import figures_of, stage_of
from tests.pipeline.report.sample import forward

ROW = {"client_id": "<script>alert(1)</script>", "requests": 7654321, "p50_us": 1.5}


class Reader(HTMLParser):
    """Collects the tags, and all addresses from which a browser would load something; `data:` is inside the page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        addresses = [value or "" for name, value in attrs if name in ("src", "href")]
        self.loaded += [address for address in addresses if not address.startswith("data:")]


@pytest.mark.parametrize("rows", [[], [ROW]])
def test_the_page(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    stage = stage_of(tmp_path)
    page = write_page(stage, figures_of(forwarded=[{**forward(), **row} for row in rows]))
    text = page.read_text()
    reader = Reader()
    reader.feed(text)
    assert (reader.loaded, "script" in reader.tags) == ([], False)
    assert page_faults(page, stage) == []
    assert reader.tags.count("svg") == 6, "four of the demo, two of the audit trail"
    assert "claim &amp; more" in text
    assert ("7,654,321" in text) == bool(rows)
    assert re.search(
        r"20\d\d-\d\d-\d\d \d\d:\d\d UTC.*\d\.\d.*, Python 3\..*processor.*pyspark .*pipeline profile delta", text
    )
    assert ("<th class='n'>p50 ms</th>" in text) == bool(rows)


def written(folder: Path, **facts: Any) -> tuple[Stage, Path]:
    stage = stage_of(folder, **facts)
    return stage, write_page(stage, figures_of())


def test_each_section_has_a_sentence_of_meaning_and_the_header_the_marks(tmp_path: Path) -> None:
    _, page = written(tmp_path)
    text = page.read_text()
    sections = re.findall(r"<h2>(.*?)</h2>\n<p class='soft'>(.*?)</p>", text)
    assert len(sections) == text.count("<h2>") == 18
    assert [title for title, meaning in sections if not meaning.endswith(".")] == []
    assert "<p class='pass'>✓ 2 checks passed, 0 failed</p>" in text
    assert re.search(r"✓.*first step.*>2<.*>1\.2<", text)


def test_values_are_written_for_readers(tmp_path: Path) -> None:
    _, page = written(tmp_path)
    text = page.read_text()
    for python in ("[[", "[]", "True", "False", "None<", "{'", "INIT_PRODUCER_ID"):
        assert python not in text, python
    for plain in ("InitProducerId", "1,234,567", "9</b><span>audit events in the table, 0 missing"):
        assert plain in text, plain


def test_the_colors_follow_the_scheme_of_the_reader(tmp_path: Path) -> None:
    _, page = written(tmp_path)
    drawings = re.findall(r"<svg.*?</svg>", page.read_text())
    assert "prefers-color-scheme: dark" in page.read_text()
    assert [color for drawing in drawings for color in re.findall(r"#[0-9a-f]{3,6}\b", drawing)] == []


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
