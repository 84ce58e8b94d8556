"""Allowed changes of a table's schema: columns may be added, types may be widened, no type may change otherwise.

Checked before anything is written, because neither committer would reject a change: Delta's sink casts a changed type
silently back to the table's, delta-rs accepts files with columns that the table does not show. Works on the JSON form
that Spark and Delta share; nullability is not part of a type here (every column of our tables is nullable).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

JsonType = str | Mapping[str, Any]


class SchemaBreakError(RuntimeError):
    """The rows do not fit the table."""


def type_text(column_type: JsonType) -> str:
    """A type as DDL, for comparisons and for messages."""
    if isinstance(column_type, str):
        return {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(
            column_type, column_type
        )
    kind = column_type["type"]
    if kind == "array":
        return f"array<{type_text(column_type['elementType'])}>"
    if kind == "map":
        return f"map<{type_text(column_type['keyType'])},{type_text(column_type['valueType'])}>"
    inner = ",".join(f"{field['name']}:{type_text(field['type'])}" for field in column_type["fields"])
    return f"struct<{inner}>"


_WHOLE = ("byte", "short", "integer", "long")


def is_widening(narrow: JsonType, wide: JsonType) -> bool:
    """True if every value of the simple type `narrow` is a value of `wide`: a longer whole number, double for float,
    timestamp for date."""
    if not isinstance(narrow, str) or not isinstance(wide, str):
        return False
    if narrow in _WHOLE and wide in _WHOLE:
        return _WHOLE.index(narrow) < _WHOLE.index(wide)
    return (narrow, wide) in (("float", "double"), ("date", "timestamp"))


def widened_type(existing: JsonType, required: JsonType) -> JsonType:
    """The type that holds the values of both; `existing` where there is none. Fields are added to structs."""
    if is_widening(existing, required):
        return required
    if isinstance(existing, str) or isinstance(required, str) or existing["type"] != required["type"]:
        return existing
    if existing["type"] == "struct":
        by_name = {field["name"].lower(): field for field in existing["fields"]}
        for field in required["fields"]:
            there = by_name.get(field["name"].lower())
            kept = there or {**field, "nullable": True}
            by_name[field["name"].lower()] = {**kept, "type": widened_type(kept["type"], field["type"])}
        return {**existing, "fields": list(by_name.values())}
    inner = "elementType" if existing["type"] == "array" else "valueType"
    return {**existing, inner: widened_type(existing[inner], required[inner])}


def widened_columns(existing: Mapping[str, Any], required: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The fields of `existing` with the types that `required` needs; empty if no type has to be widened."""
    wanted = {field["name"].lower(): field["type"] for field in required["fields"]}
    fields: list[Mapping[str, Any]] = [
        {**field, "type": widened_type(field["type"], wanted.get(field["name"].lower(), field["type"]))}
        for field in existing["fields"]
    ]
    return fields if fields != list(existing["fields"]) else []


def added_columns(existing: Mapping[str, Any], required: Mapping[str, Any], table: str) -> list[Mapping[str, Any]]:
    """The fields of `wanted` that `existing` lacks (both: a struct type as JSON).

    Raises SchemaBreakError naming every column whose type differs. Columns that only the table has stay null.
    """
    existing_fields = {field["name"].lower(): field for field in existing["fields"]}
    added, broken = [], []
    for field in required["fields"]:
        there = existing_fields.get(field["name"].lower())
        if there is None:
            added.append(field)
        elif type_text(there["type"]) != type_text(field["type"]):
            broken.append(f"{field['name']} is {type_text(there['type'])} in the table, {type_text(field['type'])} now")
    if broken:
        raise SchemaBreakError(
            f"table {table} keeps its types: {'; '.join(broken)}; declare the table's types, or begin a new table"
        )
    return added
