"""Formats of `signalbox consume`."""

from __future__ import annotations

import json

import pytest

from signalbox.cli.records.record_format import compile_format, record_as_json
from signalbox.client.fetch_exchange import ConsumedRecord

RECORD = ConsumedRecord("t", 3, 7, 1234, b"key", b"value", (("a", b"1"), ("b", None)))
TOMBSTONE = ConsumedRecord("t", 3, 8, 1234, None, None, ())


@pytest.mark.parametrize(
    ("text", "record", "printed"),
    [
        ("%t %p %o %k=%s %h %T\\n", RECORD, b"t 3 7 key=value a=1,b=NULL 1234\n"),
        ("%K %S|", RECORD, b"3 5|"),
        ("%K %S|%k%s|", TOMBSTONE, b"-1 -1||"),
        (r"%%\t\x41\\\q", RECORD, b"%\tA\\\\q"),
        ("", RECORD, b""),
        ("né%s", RECORD, "névalue".encode()),
    ],
)
def test_fields_and_escapes(text: str, record: ConsumedRecord, printed: bytes) -> None:
    assert compile_format(text)(record) == printed


def test_null_has_a_text_if_it_is_named() -> None:
    assert compile_format("%k:%s", null=b"NULL")(TOMBSTONE) == b"NULL:NULL"
    assert compile_format("%k:%s", null=b"NULL")(RECORD) == b"key:value"


def test_an_unknown_field_is_rejected() -> None:
    with pytest.raises(ValueError, match="%q is not a field of --format: expected %t, %p"):
        compile_format("%q")


def test_json_keeps_what_is_no_text() -> None:
    assert json.loads(record_as_json(RECORD)) == {
        "topic": "t",
        "partition": 3,
        "offset": 7,
        "timestamp_ms": 1234,
        "key": "key",
        "value": "value",
        "headers": [["a", "1"], ["b", None]],
    }
    odd = json.loads(record_as_json(RECORD._replace(key=None, value=b"\xff\x00")))
    assert (odd["key"], odd["value"]) == (None, {"base64": "/wA="})
