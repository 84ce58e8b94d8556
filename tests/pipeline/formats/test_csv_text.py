"""A line of CSV becomes fields."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from signalbox.pipeline.formats.csv_text import csv_decoder
from signalbox.pipeline.formats.schema_text import DecodeError, SchemaTextError, array, column

pytestmark = pytest.mark.spec("P4")
COLUMNS = (column("n", "integer"), column("text", "string"), column("price", "decimal(5,2)"), column("b", "boolean"))


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b'1,"a, ""b""",2.50,true', {"n": 1, "text": 'a, "b"', "price": Decimal("2.50"), "b": True}),
        (b",,,\r\n", {"n": None, "text": None, "price": None, "b": None}),
        (
            "1,a\u2028b\u2029c\x85d\fe\vf\x1c\x1d\x1e,1,true\r".encode(),
            {"n": 1, "text": "a\u2028b\u2029c\x85d\fe\vf\x1c\x1d\x1e", "price": Decimal(1), "b": True},
        ),
        (b'7,"two\nlines",1,FALSE', {"n": 7, "text": "two\nlines", "price": Decimal(1), "b": False}),
    ],
)
def test_a_line_is_read(line: bytes, row: dict[str, Any]) -> None:
    assert csv_decoder(COLUMNS, ",").decode(line) == row


def test_the_delimiter_is_an_option() -> None:
    assert csv_decoder(COLUMNS[:2], ";").decode(b"1;a,b") == {"n": 1, "text": "a,b"}


def test_a_field_may_be_ten_megabytes() -> None:
    assert len(csv_decoder(COLUMNS[1:2], ",").decode(b"x" * 10_000_000)["text"]) == 10_000_000


@pytest.mark.spec("P6")
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xff", "not_utf8"),
        (b"", "lines:0_not_1"),
        (b"1,a,1,true\n2,b,1,true", "lines:2_not_1"),
        (b"1,a", "fields:2_not_4"),
        (b'1,"a"b,1,true', "not_csv"),
        (b"x,a,1,true", "type:n"),
        (b"1,a,1,maybe", "type:b"),
        (b"1,a,much,true", "type:price"),
        (b"1,a,1,true\r2,b,1,true", "lines:2_not_1"),
        (b"1_000,a,1,true", "type:n"),
        (b"1,a,1_0,true", "type:price"),
    ],
)
def test_other_lines_are_rejected(line: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=f"^{reason}$"):
        csv_decoder(COLUMNS, ",").decode(line)


@pytest.mark.spec("P6")
@pytest.mark.parametrize("text", [b"1_0", b"1e400"])
def test_what_is_no_double_is_rejected(text: bytes) -> None:
    read = csv_decoder((column("d", "double"),), ",")
    assert read.decode(b"-Infinity") == {"d": float("-inf")}
    with pytest.raises(DecodeError, match=r"^type:d$"):
        read.decode(text)


def test_a_nested_column_is_an_error() -> None:
    with pytest.raises(SchemaTextError, match="declare it as STRING"):
        csv_decoder((column("a", array("integer")),), ",")
