"""A schema as text with its references, and what a format makes of it: columns and a function that decodes bytes.

Column types are in the JSON form that Spark and Delta share. Importing this module loads no library of a format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

JsonType = str | Mapping[str, Any]
Field = Mapping[str, Any]


class DecodeError(ValueError):
    """Bytes that are not what the format or the schema says. The text is the reason of the rejected record."""


class SchemaTextError(RuntimeError):
    """A schema that cannot be read, or that has no fields."""


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema, and the schemas that it names: (name, text) pairs, each after those that it needs.

    `message`: the full name of the Protobuf message; "" is the first message of the file.
    """

    text: str
    references: tuple[tuple[str, str], ...] = ()
    message: str = ""


NO_SCHEMA = SchemaText("")


@dataclass(frozen=True, slots=True)
class Decoder:
    """`columns`: the fields that the schema declares. `decode`: bytes → fields; raises DecodeError."""

    columns: tuple[Field, ...]
    decode: Callable[[bytes], Mapping[str, Any]]


def column(name: str, column_type: JsonType, optional: bool = True) -> Field:
    """A field in the JSON form; `optional`: it may be null."""
    return {"name": name, "type": column_type, "nullable": optional, "metadata": {}}


def struct(fields: list[Field] | tuple[Field, ...]) -> JsonType:
    """A struct type."""
    return {"type": "struct", "fields": list(fields)}


def array(element: JsonType) -> JsonType:
    """An array type whose elements may be null."""
    return {"type": "array", "elementType": element, "containsNull": True}


def map_of(key: JsonType, value: JsonType) -> JsonType:
    """A map type whose values may be null."""
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
