"""The page and the JSON of the report."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from signalbox.pipeline.report.page import SHOWN_ROWS, report_document, report_page
from tests.pipeline.report.sample import decided, figures, forward, misroute, rejection

pytestmark = pytest.mark.spec("P2")
REPORTED = figures(
    forwarded=[forward(1)], decided=[decided("User:broker")], rejected=[rejection("control")], misrouted=[misroute(150)]
)


class Tags(HTMLParser):
    """Notes tags that were not closed, and what would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "!doctype"):
            self.open.append(tag)
        addresses = [str(value) for name, value in attrs if name in ("src", "href")]
        self.loaded += [address for address in addresses if not address.startswith("data:")]
        self.loaded += [tag] * (tag == "script")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing() -> None:
    page = report_page(REPORTED, "lake")
    tags = Tags()
    tags.feed(page)
    assert (tags.open, tags.loaded) == ([], [])
    assert "url(" not in page
    for text in ("Who talks to whom", "Rejected", "Misrouted", "User:mallory", "a storm of misroutes", "c1/1 → c1/2"):
        assert text in page


def test_it_fits_a_phone_and_has_a_dark_mode() -> None:
    page = report_page(REPORTED, "lake")
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page
    assert page.count("<table") == page.count("<table><tr class='head'>") > 0
    assert not re.search(r"width: \d+px", page)


def test_text_of_clients_is_escaped() -> None:
    reported = figures(requests=[{**REPORTED["requests"][0], "client_id": "<script>alert(1)</script>"}])
    assert "<script" not in report_page(reported, "<b>lake</b>")


def test_an_incomplete_audit_trail_comes_first() -> None:
    completeness = {**REPORTED["completeness"], "complete": False, "findings": ["broker 1 epoch 7 begins at seq 50"]}
    page = report_page(figures(completeness=completeness), "lake")
    assert page.index("Not complete.") < page.index("broker 1 epoch 7 begins at seq 50") < page.index("Anomalies")
    assert "<b>Complete.</b>" in report_page(REPORTED, "lake")


def test_long_lists_are_cut_and_their_rows_are_a_csv_file() -> None:
    rows = [misroute(number, actual=f"c1/{number}") for number in range(SHOWN_ROWS + 5)]
    page = report_page(figures(misrouted=rows), "lake")
    assert f">c1/{SHOWN_ROWS - 1}<" in page
    assert f"<span>c1/{SHOWN_ROWS}<" not in page
    assert f"All {SHOWN_ROWS + 5} rows: <a download='misrouted.csv'" in page


def test_an_audit_trail_without_events_is_a_page() -> None:
    totals = {**REPORTED["totals"], "first_ms": None, "last_ms": None}
    empty = figures(totals=totals, requests=[], latency=[], completeness={**REPORTED["completeness"], "brokers": []})
    assert "no events" in report_page(empty, "lake")


def test_the_document_is_json_with_figures_and_anomalies() -> None:
    document = report_document(REPORTED)
    assert json.loads(json.dumps(document)) == document
    assert {anomaly["rule"] for anomaly in document["anomalies"]} == {
        "misrouted requests",
        "rejected requests",
        "failed forwarded requests",
    }
