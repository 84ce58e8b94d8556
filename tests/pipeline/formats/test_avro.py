"""Avro records become fields."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pytest

from signalbox.pipeline.formats.avro import avro_decoder
from signalbox.pipeline.formats.fit import row_fit
from signalbox.pipeline.formats.schema_text import DecodeError, SchemaText, SchemaTextError
from signalbox.pipeline.schema_gate import type_text

pytestmark = pytest.mark.spec("P4")
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def record(*fields: tuple[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def written(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("kind", "value", "column_type", "expected"),
    [
        ("int", 3, "int", 3),
        (["null", "long"], None, "bigint", None),
        (["string", "null"], "x", "string", "x"),
        ({"type": "int", "logicalType": "date"}, date(2026, 1, 2), "date", date(2026, 1, 2)),
        ({"type": "long", "logicalType": "timestamp-micros"}, AT, "timestamp", AT),
        ({"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}, Decimal("1.25"), "decimal(5,2)",
         Decimal("1.25")),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B", "string", "B"),
        ({"type": "fixed", "name": "X", "size": 2}, b"ab", "binary", b"ab"),
        ({"type": "array", "items": "float"}, [0.5], "array<float>", [0.5]),
        ({"type": "map", "values": "boolean"}, {"a": True}, "map<string,boolean>", {"a": True}),
        (["int", "string"], "x", "string", "x"),
        ({"type": "record", "name": "S", "fields": [{"name": "a", "type": "int"}]}, {"a": 1}, "struct<a:int>",
         {"a": 1}),
        (["null", "R"], {"f": None}, "string", {"f": None}),
    ],
)  # fmt: skip
def test_a_field_has_the_type_and_the_value_of_its_schema(
    kind: Any, value: Any, column_type: str, expected: Any
) -> None:
    schema = record(("f", kind))
    decoder = avro_decoder(SchemaText(json.dumps(schema)))
    (field,) = decoder.columns
    assert (field["name"], type_text(field["type"])) == ("f", column_type)
    assert decoder.decode(written(schema, {"f": value})) == {"f": expected}


def test_what_is_no_record_is_one_field() -> None:
    decoder = avro_decoder(SchemaText('"long"'))
    assert [(field["name"], field["type"]) for field in decoder.columns] == [("value", "long")]
    assert decoder.decode(written("long", 7)) == {"value": 7}


def test_a_schema_may_name_others() -> None:
    other = json.dumps({"type": "record", "name": "Other", "fields": [{"name": "b", "type": "int"}]})
    decoder = avro_decoder(SchemaText(json.dumps(record(("f", "Other"))), (("Other", other),)))
    assert type_text(decoder.columns[0]["type"]) == "struct<b:int>"
    assert decoder.decode(b"\x04") == {"f": {"b": 2}}


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ({"type": "string", "logicalType": "uuid"}, UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({"type": "int", "logicalType": "time-millis"}, time(1, 2, 3), "01:02:03"),
        ({"type": "long", "logicalType": "time-micros"}, time(1, 2, 3, 4), "01:02:03.000004"),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, datetime(2026, 1, 2, 3, 4, 5),
         "2026-01-02T03:04:05"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2}, Decimal("9" * 38 + ".99"),
         "9" * 38 + ".99"),
        (["null", "int", {"type": "map", "values": "int"}], {"a": 1}, '{"a": 1}'),
    ],
)  # fmt: skip
def test_logical_types_without_a_column_type_are_plain_text(kind: Any, value: Any, text: str) -> None:
    schema = record(("f", kind))
    decoder = avro_decoder(SchemaText(json.dumps(schema)))
    assert row_fit(decoder.columns, True)(decoder.decode(written(schema, {"f": value}))) == {"f": text}


@pytest.mark.spec("P6")
@pytest.mark.parametrize(("data", "reason"), [(b"", "not_avro"), (b"\x02x", "trailing_bytes")])
def test_other_bytes_are_rejected(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        avro_decoder(SchemaText(json.dumps(record(("f", "int"))))).decode(data)


@pytest.mark.parametrize("text", ["{", '{"type": "record"}', '"Unknown"', "[1]"])
def test_what_is_no_schema_is_an_error(text: str) -> None:
    with pytest.raises(SchemaTextError, match="the Avro schema cannot be read"):
        avro_decoder(SchemaText(text))
