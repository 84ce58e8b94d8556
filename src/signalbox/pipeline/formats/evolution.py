"""How the columns of a part follow its schema: fields are added, types are widened, no column is taken away.

| table | schema | column |
|---|---|---|
| – | any type | added |
| byte, short, int | a longer whole number | widened |
| float | double | widened |
| date | timestamp | widened |
| a struct | fields that it lacks | added to the struct, also in arrays and maps |
| the same or a wider type | | stays: the values fit |
| anything else | | stays: records with values that do not fit are rejected with `type:<field>` |

Declared fields follow the same table, but for its last two rows: a declaration that the columns cannot follow is an
error. A field that is no longer declared keeps its column, null from then on, as when Spark appends a frame without it
to a Delta table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as member

from signalbox.pipeline.formats.schema_text import Field, JsonType
from signalbox.pipeline.schema_gate import is_widening, type_text, widened_type


@dataclass(slots=True)
class SchemaChanges:
    """What schemas changed, in words. `followed`: changes of columns. `unfitting`: types that columns do not follow."""

    followed: list[str] = member(default_factory=list)
    unfitting: list[str] = member(default_factory=list)


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


def _follows(existing: JsonType, declared: JsonType) -> bool:
    """Whether a column can follow a declared type: equal or wider, at every place that both have."""
    if isinstance(existing, str) or isinstance(declared, str):
        return existing == declared or is_widening(existing, declared)
    if existing["type"] != declared["type"]:
        return False
    if existing["type"] == "array":
        return _follows(existing["elementType"], declared["elementType"])
    if existing["type"] == "map":
        same_key = type_text(existing["keyType"]) == type_text(declared["keyType"])
        return same_key and _follows(existing["valueType"], declared["valueType"])
    by_name = {field["name"].lower(): field for field in existing["fields"]}
    pairs = [(by_name[name], field) for field in declared["fields"] if (name := field["name"].lower()) in by_name]
    return all(there["name"] == field["name"] and _follows(there["type"], field["type"]) for there, field in pairs)


def _declaration_fault(existing: Field, declared: Field) -> str | None:
    name = declared["name"]
    if name != existing["name"]:
        return f"{existing['name']} is the name in the table, {name} now"
    if not _follows(existing["type"], declared["type"]):
        return f"{name} is {type_text(existing['type'])} in the table, {type_text(declared['type'])} now"
    if existing["nullable"] and not declared["nullable"]:
        return f"{name} may be null in the table, is NOT NULL now"
    return None


def with_declared_fields(
    columns: tuple[Field, ...], fields: tuple[Field, ...]
) -> tuple[tuple[Field, ...], list[str], list[str]]:
    """The columns after other fields were declared, in the order of the fields; the changes, and the faults in words.

    With faults the columns cannot follow.
    """
    gone: dict[str, Field] = {field["name"].lower(): field for field in columns}
    after: list[Field] = []
    changes: list[str] = []
    faults: list[str] = []
    for field in fields:
        existing = gone.pop(field["name"].lower(), None)
        if existing is None:
            after.append(field)
            changes.append(f"{field['name']} {type_text(field['type'])} added")
            continue
        fault = _declaration_fault(existing, field)
        if fault is not None:
            faults.append(fault)
            continue
        before, now = type_text(existing["type"]), widened_type(existing["type"], field["type"])
        after.append({**field, "type": now})
        if type_text(now) != before:
            changes.append(f"{field['name']} widened from {before} to {type_text(now)}")
        if field["nullable"] and not existing["nullable"]:
            changes.append(f"{field['name']} may be null now")
    changes += [f"{field['name']} is no longer declared: it stays, null in new rows" for field in gone.values()]
    return tuple(after), changes, faults
