"""JSON objects with declared fields."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from signalbox.pipeline.formats.json_text import json_decoder, read_json
from signalbox.pipeline.formats.schema_text import DecodeError, column


@pytest.mark.spec("P4")
def test_declared_fields_are_taken_from_an_object() -> None:
    decoder = json_decoder((column("a", "long"),))
    assert decoder.decode(b' {"a": 1, "more": {"b": 2}} ') == {"a": 1}


@pytest.mark.spec("P4")
def test_an_object_may_have_a_hundred_thousand_fields() -> None:
    text = json.dumps({f"field_{number}": number for number in range(100_000)}).encode()
    assert json_decoder((column("field_99999", "long"),)).decode(text) == {"field_99999": 99_999}


@pytest.mark.spec("P6")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "not_utf8"),
        (b"{", "not_json"),
        (b'{"a": NaN}', "not_json"),
        (b"[1]", "not_an_object"),
        (b'{"a": 1e99999999999999999999}', "not_json"),
    ],
)
def test_other_bytes_are_rejected(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        json_decoder(()).decode(data)


def test_any_json_value_is_read() -> None:
    assert read_json(b"[1, null]") == [1, None]


@pytest.mark.spec("P4")
def test_numbers_keep_their_digits() -> None:
    assert read_json(b"[12345678901234567.89, 1e400, 2]") == [Decimal("12345678901234567.89"), Decimal("1e400"), 2]
