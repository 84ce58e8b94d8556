"""Pieces of the report as HTML: escaped, and each cell of a table names its column."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any

import pytest

from signalbox.pipeline.report.parts import MOST_CSV_ROWS, api_name, csv_link, definitions, plain, section, table, tiles


def test_a_cell_names_its_column_for_narrow_screens() -> None:
    text = table([{"p50_us": 1500.0, "api": "CREATE_TOPICS", "client_id": "<b>"}])
    assert "<th class='n'>p50 ms</th><th>api</th><th>client id</th>" in text
    assert "<td class='n' data-name='p50 ms'><span>1.50</span></td>" in text
    assert "<td data-name='api'><span>CreateTopics</span></td>" in text
    assert "<span>&lt;b&gt;</span>" in text


def test_columns_that_a_row_lacks_are_empty() -> None:
    assert "<td data-name='errors'><span></span></td>" in table([{"requests": 1}], ("requests", "errors"))


def test_no_rows() -> None:
    assert table([]) == "<p class='soft'>None.</p>"


def test_text_is_escaped_everywhere() -> None:
    pieces = [*section("<t>", "<m>"), tiles([("<v>", "<c>")]), definitions([("<n>", "<d>")])]
    assert [tag for tag in ("<t>", "<m>", "<v>", "<c>", "<n>", "<d>") if tag in "".join(pieces)] == []


def test_all_rows_are_a_csv_file_inside_the_page() -> None:
    link = csv_link("r.csv", [{"api": "FETCH", "n": 1}, {"api": 'a "b", c', "more": "ü"}])
    assert link.startswith("<p class='csv'>All 2 rows: <a download='r.csv' href='data:text/csv;charset=utf-8;base64,")
    [data] = re.findall(r"base64,([^']*)'", link)
    assert b64decode(data).decode() == 'api,n,more\nFETCH,1,\n"a ""b"", c",,ü\n'
    assert csv_link("r.csv", []) == ""


def test_a_csv_file_has_a_limit_and_says_so() -> None:
    link = csv_link("r.csv", [{"n": number} for number in range(MOST_CSV_ROWS + 1)])
    assert "The first 10,000 of 10,001 rows: " in link
    [data] = re.findall(r"base64,([^']*)'", link)
    assert b64decode(data).decode().splitlines()[-1] == "9999"


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


def test_an_api_has_the_name_that_kafka_gives_it() -> None:
    assert [api_name(text) for text in ("CREATE_TOPICS", "CreateTopics", "")] == ["CreateTopics", "CreateTopics", ""]
