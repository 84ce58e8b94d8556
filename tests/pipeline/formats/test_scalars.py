"""The formats of Kafka's own serializers."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.pipeline.formats.scalars import scalar_decoder
from signalbox.pipeline.formats.schema_text import DecodeError


@pytest.mark.spec("P4")
@pytest.mark.parametrize(
    ("name", "data", "value"),
    [
        ("string", "ü".encode(), "ü"),
        ("int", b"\xff\xff\xff\xfe", -2),
        ("long", b"\0\0\0\0\0\0\0\x07", 7),
        ("float", b"\x3f\0\0\0", 0.5),
        ("double", b"\x3f\xe0\0\0\0\0\0\0", 0.5),
    ],
)
def test_a_scalar_is_one_field(name: str, data: bytes, value: Any) -> None:
    assert scalar_decoder(name).decode(data) == {"value": value}


@pytest.mark.spec("P6")
@pytest.mark.parametrize(
    ("name", "reason"), [("string", "not_utf8"), ("int", "length:1_not_4"), ("long", "length:1_not_8")]
)
def test_other_bytes_are_rejected(name: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        scalar_decoder(name).decode(b"\xff")
