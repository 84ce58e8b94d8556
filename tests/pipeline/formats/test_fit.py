"""Values fit into columns, or the field is named."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from signalbox.pipeline.formats.fit import row_fit
from signalbox.pipeline.formats.schema_text import DecodeError, JsonType, array, column, map_of, struct

DAY, AT = date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.spec("P4")
@pytest.mark.parametrize(
    ("column_type", "value", "expected"),
    [
        ("integer", 2**31 - 1, 2**31 - 1),
        ("double", 1, 1.0),
        ("float", 0.5, 0.5),
        ("float", float("inf"), float("inf")),
        ("string", "x", "x"),
        ("string", 7, "7"),
        ("string", {"a": [b"\x01", DAY]}, '{"a": ["AQ==", "2026-01-02"]}'),
        ("string", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ("string", time(1, 2, 3), "01:02:03"),
        ("string", AT, "2026-01-02T00:00:00+00:00"),
        ("string", DAY, "2026-01-02"),
        ("string", Decimal("1.50"), "1.50"),
        (
            "string",
            {"é": [Decimal("12345678901234567.89"), 0.5, None, "é"]},
            '{"é": [12345678901234567.89, 0.5, null, "é"]}',
        ),
        ("double", Decimal("0.1"), 0.1),
        ("decimal(38,0)", Decimal("9" * 38), Decimal("9" * 38)),
        ("decimal(38,0)", -(10**38) + 1, Decimal("-" + "9" * 38)),
        ("decimal(38,2)", Decimal("12345678901234567.89"), Decimal("12345678901234567.89")),
        ("decimal(5,2)", Decimal("1.5" + "0" * 60), Decimal("1.5")),
        ("decimal(5,2)", Decimal("123.45"), Decimal("123.45")),
        ("decimal(5,2)", 1.25, Decimal("1.25")),
        ("date", "2026-01-02", DAY),
        ("timestamp", "2026-01-02T00:00:00Z", AT),
        ("timestamp", "2026-01-02 00:00:00", AT),
        ("timestamp", DAY, AT),
        (array("long"), [1, None], [1, None]),
        (map_of("string", "long"), {"a": 1}, [("a", 1)]),
        (struct([column("x", "long")]), {}, {"x": None}),
    ],
)
def test_a_value_that_fits(column_type: JsonType, value: Any, expected: Any) -> None:
    assert row_fit((column("f", column_type),), True)({"f": value}) == {"f": expected}


@pytest.mark.spec("P4", "P6")
@pytest.mark.parametrize(
    ("column_type", "value"),
    [
        ("integer", 2**31),
        ("byte", 128),
        ("long", True),
        ("long", 1.0),
        ("double", "1"),
        ("double", 10**400),
        ("float", 1e300),
        ("boolean", 1),
        ("binary", "text"),
        ("decimal(5,2)", Decimal("1000")),
        ("decimal(5,2)", Decimal("1.234")),
        ("decimal(5,2)", Decimal("NaN")),
        ("decimal(5,2)", Decimal("sNaN")),
        ("decimal(5,2)", float("inf")),
        ("decimal(38,0)", Decimal("1" + "0" * 38)),
        ("decimal(38,38)", Decimal("0." + "9" * 39)),
        ("decimal(38,0)", Decimal("9" * 37 + ".5")),
        ("decimal(38,2)", Decimal("1E-999999999")),
        ("decimal(38,2)", Decimal("1E+999999999")),
        ("double", Decimal("1E400")),
        ("string", "\ud83d"),
        ("string", ["\ud83d", 1]),
        (map_of("string", "long"), {"\ud83d": 1}),
        ("date", AT),
        ("date", "tomorrow"),
        ("timestamp", 7),
        ("timestamp", "noon"),
        (array("long"), {"a": 1}),
        (map_of("string", "long"), [1]),
        (struct([column("x", "long")]), 1),
    ],
)
def test_a_value_that_does_not_fit_is_rejected(column_type: JsonType, value: Any) -> None:
    with pytest.raises(DecodeError, match=r"^type:f$"):
        row_fit((column("f", column_type),), True)({"f": value})


@pytest.mark.spec("P6")
def test_the_reason_has_the_path() -> None:
    fit = row_fit((column("a", struct([column("b", "long"), column("c", "long", optional=False)])),), True)
    for value, reason in (
        ({"a": {"b": "x", "c": 1}}, "type:a.b"),
        ({"a": {"b": 1}}, "missing:a.c"),
        ({"a": {"c": 1, "d": 1}}, "column:a.d"),
        ({"z": 1}, "column:z"),
    ):
        with pytest.raises(DecodeError, match=f"^{reason}$"):
            fit(value)


def test_without_strictness_further_fields_are_left_out() -> None:
    assert row_fit((column("a", "long"),), False)({"a": 1, "z": 2}) == {"a": 1}


def test_a_value_that_is_nested_too_deeply_for_text_is_rejected() -> None:
    value: list[Any] = []
    for _ in range(5_000):
        value = [value]
    with pytest.raises(DecodeError, match=r"^type:f$"):
        row_fit((column("f", "string"),), True)({"f": value})


def test_a_type_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(DecodeError, match="void"):
        row_fit((column("a", "void"),), True)
