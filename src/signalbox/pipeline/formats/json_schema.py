"""JSON with a JSON Schema: every value is validated (`jsonschema-rs`), the schema's properties are the columns.

| schema | column |
|---|---|
| integer, number, string, boolean | BIGINT, DOUBLE, STRING, BOOLEAN |
| object with properties, array with items | STRUCT, ARRAY |
| object with additionalProperties only | MAP<STRING, ...> |
| a type with null | the other type |
| `$ref` | what it refers to, in the same document or in a reference of the registry |
| anything else (several types, oneOf, a schema inside itself) | STRING with JSON text |

A property whose name a table cannot have stays in the raw value; inside an object, the object becomes JSON text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import jsonschema_rs

from signalbox.pipeline.formats.json_text import read_json
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

_UNFIT_NAME = re.compile(r"[ ,;{}()\n\t=`.]")
_BIGINT_DIGITS = 19
_TYPES = {"integer": "long", "number": "double", "string": "string", "boolean": "boolean"}


def fit_names(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties whose names a table can have, the first of those that differ only in case."""
    fit: dict[str, Any] = {}
    for name, part in properties.items():
        if name and not _UNFIT_NAME.search(name) and name.lower() not in {known.lower() for known in fit}:
            fit[name] = part
    return fit


class _Columns:
    """Column types of a schema document and its references."""

    def __init__(self, root: Any, references: Mapping[str, Any]) -> None:
        self._root = root
        self._references = references

    def _target(self, reference: str) -> tuple[Any, _Columns]:
        name, _, pointer = reference.partition("#")
        document = self._references.get(name) if name else self._root
        if document is None:
            raise SchemaTextError(f"the JSON Schema refers to {reference}, which is not there")
        place = document
        for step in pointer.strip("/").split("/") if pointer.strip("/") else []:
            step = step.replace("~1", "/").replace("~0", "~")
            place = place[int(step)] if isinstance(place, list) else place[step]
        return place, self if not name else _Columns(document, self._references)

    def type_of(self, schema: Any, inside: tuple[int, ...] = ()) -> JsonType:
        """The column type of a schema."""
        if not isinstance(schema, Mapping) or id(schema) in inside:
            return "string"
        inner = (*inside, id(schema))
        if "$ref" in schema:
            target, columns = self._target(schema["$ref"])
            return columns.type_of(target, inner)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            kinds = next(iter([kind for kind in kinds if kind != "null"]), None) if len(kinds) <= 2 else None
        if kinds == "array" and "items" in schema:
            return array(self.type_of(schema["items"], inner))
        if kinds == "object" and schema.get("properties"):
            properties = fit_names(schema["properties"])
            if len(properties) < len(schema["properties"]) and inside:
                return "string"
            return struct([column(name, self.type_of(part, inner)) for name, part in properties.items()])
        if kinds == "object" and isinstance(schema.get("additionalProperties"), Mapping):
            return map_of("string", self.type_of(schema["additionalProperties"], inner))
        return _TYPES.get(kinds, "string") if isinstance(kinds, str) else "string"


def _whole_numbers(value: Any) -> Any:
    """JSON Schema takes 1.0 for an integer; so does the column. Numbers that no BIGINT has stay as they are."""
    is_near = isinstance(value, Decimal) and value.adjusted() < _BIGINT_DIGITS
    return int(value) if is_near and value == value.to_integral_value() else value


def _adapt(value: Any, column_type: JsonType) -> Any:
    if column_type == "long":
        return _whole_numbers(value)
    if not isinstance(column_type, Mapping):
        return value
    if column_type["type"] == "array" and isinstance(value, list):
        return [_adapt(inner, column_type["elementType"]) for inner in value]
    if column_type["type"] == "map" and isinstance(value, Mapping):
        return {name: _adapt(inner, column_type["valueType"]) for name, inner in value.items()}
    if column_type["type"] == "struct" and isinstance(value, Mapping):
        types = {field["name"]: field["type"] for field in column_type["fields"]}
        # A property that the schema does not declare stays in the raw value.
        return {name: _adapt(inner, types[name]) for name, inner in value.items() if name in types}
    return value


def json_schema_decoder(schema: SchemaText) -> Decoder:
    """The decoder for a JSON Schema. Reasons: `not_utf8`, `not_json`, `schema:<path>:<keyword>`. Raises
    SchemaTextError."""
    try:
        document = json.loads(schema.text)
        references = {name: json.loads(text) for name, text in schema.references}
        registry = jsonschema_rs.Registry(list(references.items())) if references else None
        validator = jsonschema_rs.validator_for(document, registry=registry)
        top = _Columns(document, references).type_of(document)
    except SchemaTextError:
        raise
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise SchemaTextError(f"the JSON Schema cannot be read: {str(error).splitlines()[0]}") from error
    is_record = isinstance(top, Mapping) and top["type"] == "struct"
    columns = tuple(top["fields"]) if isinstance(top, Mapping) and is_record else (column(SCALAR_FIELD, top),)

    def decode(data: bytes) -> Mapping[str, Any]:
        value = read_json(data)
        try:
            if not validator.is_valid(value):
                raise DecodeError(_reason(validator, value))
        except UnicodeEncodeError:  # an escaped half of a surrogate pair
            raise DecodeError("not_utf8") from None
        adapted = _adapt(value, top)
        if not is_record:
            return {SCALAR_FIELD: adapted}
        if not isinstance(adapted, Mapping):
            raise DecodeError("not_an_object")
        return adapted

    return Decoder(columns, decode)


def _reason(validator: Any, value: Any) -> str:
    error = next(iter(validator.iter_errors(value)))
    path = ".".join(str(step) for step in error.instance_path) or "$"
    keyword = str(error.schema_path[-1]) if error.schema_path else "false"
    return f"schema:{path}:{keyword}"
