"""JSON values are validated by their schema, whose properties are the columns."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from signalbox.pipeline.formats.json_schema import json_schema_decoder
from signalbox.pipeline.formats.schema_text import DecodeError, Decoder, SchemaText, SchemaTextError
from signalbox.pipeline.schema_gate import type_text

pytestmark = pytest.mark.spec("P4")


def decoder(schema: Any, **references: Any) -> Decoder:
    texts = tuple((f"http://example.org/{name}", json.dumps(text)) for name, text in references.items())
    return json_schema_decoder(SchemaText(json.dumps(schema), texts))


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "column_type"),
    [
        ({"type": "integer"}, "bigint"),
        ({"type": ["null", "number"]}, "double"),
        ({"type": ["string", "integer", "null"]}, "string"),
        ({"oneOf": [{"type": "string"}]}, "string"),
        ({"type": "array", "items": {"type": "boolean"}}, "array<boolean>"),
        ({"type": "array"}, "string"),
        (obj(a={"type": "integer"}), "struct<a:bigint>"),
        (obj(**{"bad name": {}}), "string"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "map<string,double>"),
        ({"$ref": "#/$defs/D"}, "struct<n:bigint,again:string>"),
    ],
)
def test_column_types(schema: Any, column_type: str) -> None:
    definitions = {"D": obj(n={"type": "integer"}, again={"$ref": "#/$defs/D"})}
    (field,) = decoder({**obj(f=schema), "$defs": definitions}).columns
    assert type_text(field["type"]) == column_type


def test_a_value_is_read_and_what_is_not_declared_is_left_out() -> None:
    read = decoder(obj(n={"type": "integer"}, o=obj(x={"type": "number"}), l={"type": "array", "items": {}}))
    assert read.decode(b'{"n": 2.0, "o": {"x": 1, "y": 2}, "l": [1], "more": 3}') == {
        "n": 2,
        "o": {"x": 1},
        "l": [1],
    }


def test_numbers_keep_their_digits() -> None:
    read = decoder(obj(n={"type": "integer"}, any={}))
    value = read.decode(b'{"n": 9007199254740993.0, "any": [12345678901234567.89, 1e400]}')
    assert value == {"n": 2**53 + 1, "any": [Decimal("12345678901234567.89"), Decimal("1e400")]}
    assert isinstance(value["n"], int)
    assert read.decode(b'{"n": 1e999999999}') == {"n": Decimal("1e999999999")}  # no BIGINT; the column rejects it


def test_a_reference_of_the_registry_is_followed() -> None:
    read = decoder(obj(o={"$ref": "http://example.org/other"}), other=obj(x={"type": "integer"}))
    assert type_text(read.columns[0]["type"]) == "struct<x:bigint>"
    with pytest.raises(DecodeError, match=r"schema:o\.x:type"):
        read.decode(b'{"o": {"x": "no"}}')


@pytest.mark.spec("P6")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "not_utf8"),
        (b"{", "not_json"),
        (b'{"n": NaN}', "not_json"),
        (rb'{"n": 1, "s": "\ud83d"}', "not_utf8"),
        (rb'{"n": 1, "\ud83d": 1}', "not_utf8"),
        (b"[" * 100_000, "not_json"),
        (b"{}", r"schema:\$:required"),
        (b'{"n": "x"}', "schema:n:type"),
    ],
)
def test_a_value_that_is_not_valid_is_rejected_with_the_place(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=f"^{reason}$"):
        decoder({**obj(n={"type": "integer"}, s={"type": "string", "enum": ["a", "b"]}), "required": ["n"]}).decode(
            data
        )


def test_the_rule_false_rejects_everything() -> None:
    with pytest.raises(DecodeError, match=r"schema:\$:"):
        json_schema_decoder(SchemaText("false")).decode(b"1")


@pytest.mark.parametrize(
    "text", ["{", '{"type": 7}', '{"properties": {"a": {"$ref": "#/$defs/none"}}, "type": "object"}']
)
def test_what_is_no_schema_is_an_error(text: str) -> None:
    with pytest.raises(SchemaTextError, match="JSON Schema"):
        json_schema_decoder(SchemaText(text))
