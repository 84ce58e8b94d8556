"""Values as text for readers."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.cli.demo.wording import api_name, counted, listing, plain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (1234567, "1,234,567"),
        (1234.5, "1,234.50"),
        ([], "none"),
        ([[3, 4], [8, 8], [1000, 2000]], "3-4, 8, 1,000-2,000"),
        ("as it is", "as it is"),
    ],
)
def test_plain(value: Any, text: str) -> None:
    assert plain(value) == text


def test_one_and_many() -> None:
    assert [counted(number, "time") for number in (0, 1, 2000)] == ["0 times", "1 time", "2,000 times"]
    assert counted(2, "entry", "entries") == "2 entries"


def test_lists_and_names() -> None:
    assert listing({"b", "a"}) == "a, b"
    assert listing([]) == "none"
    assert [api_name(text) for text in ("CREATE_TOPICS", "CreateTopics", "")] == ["CreateTopics", "CreateTopics", ""]
