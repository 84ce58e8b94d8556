"""How the columns of a part follow its schema: fields are added, types are widened, nothing is taken away.

| table | schema | column |
|---|---|---|
| – | any type | added |
| byte, short, int | a longer whole number | widened |
| float | double | widened |
| date | timestamp | widened |
| a struct | fields that it lacks | added to the struct, also in arrays and maps |
| the same or a wider type | | stays: the values fit |
| anything else | | stays: records with values that do not fit are rejected with `type:<field>` |
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.pipeline.formats.schema_text import Field
from signalbox.pipeline.schema_gate import type_text, widened_type


def evolved(columns: tuple[Field, ...], schema_columns: tuple[Field, ...]) -> tuple[tuple[Field, ...], list[str]]:
    """The columns after a schema, and the changes in words; the second is empty if nothing changed."""
    by_name: dict[str, Field] = {field["name"].lower(): field for field in columns}
    changes: list[str] = []
    for field in schema_columns:
        existing = by_name.get(field["name"].lower())
        if existing is None:
            by_name[field["name"].lower()] = {**field, "nullable": True}
            changes.append(f"{field['name']} {type_text(field['type'])} added")
            continue
        before, after = type_text(existing["type"]), widened_type(existing["type"], field["type"])
        if type_text(after) != before:
            by_name[field["name"].lower()] = {**existing, "type": after}
            changes.append(f"{existing['name']} widened from {before} to {type_text(after)}")
    return tuple(by_name.values()), changes


def unfitting(columns: tuple[Field, ...], schema_columns: tuple[Field, ...]) -> list[str]:
    """The fields of a schema that the columns do not follow, in words: a report of types that changed."""
    by_name: Mapping[str, Field] = {field["name"].lower(): field for field in columns}
    problems = []
    for field in schema_columns:
        existing = by_name.get(field["name"].lower())
        if existing is None:
            continue
        # What follows the schema has its type, or a wider one, which the schema's type would be widened to.
        followed = type_text(widened_type(existing["type"], field["type"]))
        if followed not in (type_text(field["type"]), type_text(widened_type(field["type"], existing["type"]))):
            problems.append(
                f"{field['name']} is {type_text(existing['type'])} in the table, {type_text(field['type'])} now"
            )
    return problems
