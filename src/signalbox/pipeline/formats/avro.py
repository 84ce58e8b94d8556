"""Avro by fastavro: records as fields, logical types as dates, times and decimals.

| Avro | column |
|---|---|
| a union with null | the other type |
| a union of several types, a record inside itself | STRING with JSON text |
| decimal above 38 digits, time, local timestamps, duration | STRING |
| enum, uuid | STRING |
| anything but a record at the top | one field `value` |
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException

from signalbox.pipeline.formats.scalars import SCALAR_FIELD
from signalbox.pipeline.formats.schema_text import (
    DecodeError,
    Decoder,
    JsonType,
    SchemaText,
    SchemaTextError,
    array,
    column,
    map_of,
    struct,
)

_PRIMITIVES = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "fixed": "binary",
    "enum": "string",
}
_LOGICAL = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "time-millis": "string",
    "time-micros": "string",
    "uuid": "string",
    "local-timestamp-millis": "string",
    "local-timestamp-micros": "string",
    "duration": "string",
}
_MAX_DECIMAL_DIGITS = 38


def _column_type(schema: Any, named: Mapping[str, Any], inside: tuple[str, ...]) -> JsonType:
    if isinstance(schema, list):
        members = [member for member in schema if member != "null"]
        return _column_type(members[0], named, inside) if len(members) == 1 else "string"
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return _PRIMITIVES[schema]
        return "string" if schema == "null" or schema in inside else _column_type(named[schema], named, inside)
    kind, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal":
        digits = schema["precision"]
        return f"decimal({digits},{schema.get('scale', 0)})" if digits <= _MAX_DECIMAL_DIGITS else "string"
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if kind in ("record", "error"):
        name = schema["name"]
        if name in inside:
            return "string"
        inner = (*inside, name)
        return struct([column(field["name"], _column_type(field["type"], named, inner)) for field in schema["fields"]])
    if kind == "array":
        return array(_column_type(schema["items"], named, inside))
    if kind == "map":
        return map_of("string", _column_type(schema["values"], named, inside))
    return _column_type(kind, named, inside)


def avro_decoder(schema: SchemaText) -> Decoder:
    """The decoder for a writer's schema. Reasons: `not_avro`, `trailing_bytes`. Raises SchemaTextError."""
    named: dict[str, Any] = {}
    try:
        for _, text in schema.references:
            fastavro.parse_schema(json.loads(text), named_schemas=named)
        parsed = fastavro.parse_schema(json.loads(schema.text), named_schemas=named)
        top = _column_type(parsed, named, ())
    except (ValueError, KeyError, TypeError, SchemaParseException) as error:
        raise SchemaTextError(f"the Avro schema cannot be read: {type(error).__name__}: {error}") from error
    is_record = isinstance(top, Mapping) and top["type"] == "struct"
    columns = tuple(top["fields"]) if isinstance(top, Mapping) and is_record else (column(SCALAR_FIELD, top),)

    def decode(data: bytes) -> Mapping[str, Any]:
        stream = io.BytesIO(data)
        try:
            value: Any = fastavro.schemaless_reader(stream, parsed, None)
        except Exception as error:  # fastavro raises many kinds for bytes that are not of the schema
            raise DecodeError("not_avro") from error
        if stream.tell() != len(data):
            raise DecodeError("trailing_bytes")
        return value if is_record else {SCALAR_FIELD: value}

    return Decoder(columns, decode)
