"""docs/troubleshooting.toml has every message that operators may find in the log, and no other."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from signalbox.server.reference.troubleshooting_page import read_troubleshooting, troubleshooting_page
from tests.log_messages import messages_of, normalized, texts_in

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "signalbox"
PACKAGES_THAT_START = ("common", "metadata", "network", "security", "storage", "configuration", "server", "wiring")
TABLE = read_troubleshooting(ROOT / "docs" / "troubleshooting.toml")


def test_every_message_at_warning_or_above_has_one_row_and_every_row_is_a_message() -> None:
    rows = Counter((row.level, normalized(row.log)) for row in TABLE.messages)
    logged = set(messages_of(SOURCE))
    assert {row: count for row, count in rows.items() if count > 1} == {}
    assert logged - rows.keys() == set(), "messages without a row"
    assert rows.keys() - logged == set(), "rows without a message"


def test_a_message_begins_with_its_subject() -> None:
    """Operators search for words: a line must not begin with a placeholder, except for a number of things."""
    assert [row.log for row in TABLE.messages if row.log.startswith("<") and not row.log.startswith("<count> ")] == []


def test_every_start_error_is_in_the_source() -> None:
    files = [file for package in PACKAGES_THAT_START for file in (SOURCE / package).rglob("*.py")]
    texts = {text for file in files for text in texts_in(ast.parse(file.read_text(encoding="utf-8")))}
    missing = [row.text for row in TABLE.starts if not any(normalized(row.text) in text for text in texts)]
    assert missing == []


def test_every_row_has_cause_and_action() -> None:
    for row in TABLE.messages:
        assert row.cause.endswith((".", ")")), row.log
        assert row.action.endswith("."), row.log
    assert {row.area for row in TABLE.messages} == TABLE.areas.keys()


@pytest.mark.parametrize("symptom", TABLE.symptoms, ids=lambda symptom: symptom.name)
def test_a_symptom_names_messages_that_there_are(symptom: object) -> None:
    parts = symptom.log  # type: ignore[attr-defined]
    assert [part for part in parts if not any(part in row.log for row in TABLE.messages)] == []


def test_links_lead_to_sections() -> None:
    """tests/test_documents.py checks the pages; the sections are checked here."""
    page = troubleshooting_page()
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)]*)\)", page):
        text = (ROOT / "docs" / target).read_text(encoding="utf-8") if target else page
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9_-]", "", heading.lower().replace(" ", "-")) for heading in headings}
        assert anchor in anchors, (target, anchor)
