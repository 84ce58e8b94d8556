"""Pieces of the report as HTML: escaped, and each cell of a table names its column."""

from __future__ import annotations

import re
from base64 import b64decode

from signalbox.cli.demo.page_parts import csv_link, definitions, section, table, tiles


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
