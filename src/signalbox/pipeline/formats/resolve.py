"""From the options of a run, and the formats that its table was begun with, to the parts that are decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from signalbox.pipeline.formats.evolution import SchemaChanges, evolved, unfitting, with_declared_fields
from signalbox.pipeline.formats.format_options import DEFAULT_DELIMITER, FormatOptions
from signalbox.pipeline.formats.format_table import FORMATS, RAW
from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.registry import Registry, RegistrySettings
from signalbox.pipeline.formats.schema_text import Field, SchemaText, SchemaTextError
from signalbox.pipeline.options import OptionError

FieldsOf = Callable[[str], tuple[Field, ...]]


def schema_file_text(path: Path) -> str:
    """The text of a schema file. Raises SchemaTextError."""
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaTextError(f"the schema file {path} cannot be read: {error}") from error


def _new_part(
    part: str, name: str, options: FormatOptions, topic: str, declared: str | None, fields_of: FieldsOf
) -> PartSpec:
    is_value = part == "value"
    file = options.value_schema if is_value else options.key_schema
    message = options.value_message if is_value else options.key_message
    subject = options.value_subject if is_value else options.key_subject
    chosen = FORMATS[name]
    spec = PartSpec(part=part, format=name, delimiter=options.csv_delimiter)
    if chosen.declared:
        ddl = declared or (schema_file_text(file).strip() if file else None)
        if not ddl:
            where = "--schema FIELDS" if is_value else "--key-schema FILE with the fields"
            raise OptionError([f"{part} format {name} needs declared fields: {where}"])
        return spec.with_columns(fields_of(ddl))
    if not chosen.registry_type:
        return spec
    if file is not None:
        return replace(spec, schema=SchemaText(schema_file_text(file), (), message))
    assert options.schema_registry is not None
    registry = RegistrySettings.of(options.schema_registry, options.registry_options)
    schema = SchemaText("", (), message)
    return replace(spec, schema=schema, registry=registry, subject=subject or f"{topic}-{part}")


def _value_format(options: FormatOptions, declared: str | None) -> str:
    """The value's format where Spark does not read it natively: raw and plain JSON are not decoded here."""
    name = options.value_format or RAW
    return RAW if name == "json" and declared else name


def new_parts(options: FormatOptions, topic: str, declared: str | None, fields_of: FieldsOf) -> tuple[PartSpec, ...]:
    """The parts of a new table. JSON values with declared fields are no part: Spark reads them. Raises OptionError."""
    parts = []
    for part, name in (("value", _value_format(options, declared)), ("key", options.key_format or RAW)):
        if name != RAW:
            parts.append(_new_part(part, name, options, topic, declared if part == "value" else None, fields_of))
    parts += [PartSpec(part=f"header:{header}", format=name) for header, name in options.headers.items()]
    return tuple(parts)


def with_begun_formats(options: FormatOptions, stored: tuple[PartSpec, ...], declared: str | None) -> FormatOptions:
    """The options with the formats of stored parts, where the options name a new schema without a format; `declared`:
    the fields that they declare for the value. Raises OptionError if a part has no schema of that kind."""
    formats: dict[str, str] = {}
    for part, name, file in (
        ("value", options.value_format, options.value_schema),
        ("key", options.key_format, options.key_schema),
    ):
        spec = next((spec for spec in stored if spec.part == part), None)
        if name is not None or (file is None and (part == "key" or not declared)):
            continue
        if spec is not None and spec.registry is not None:
            raise OptionError([f"the schemas of the {part} are in a registry: leave out --{part}-schema"])
        if spec is not None and (FORMATS[spec.format].declared or FORMATS[spec.format].registry_type):
            formats[part] = spec.format
        elif part == "key" or not declared:
            raise OptionError([f"the {part} has no format with a schema: leave out --{part}-schema"])
    return replace(
        options,
        value_format=formats.get("value", options.value_format),
        key_format=formats.get("key", options.key_format),
    )


def continued_parts(
    stored: tuple[PartSpec, ...],
    options: FormatOptions,
    table: str,
    new: tuple[PartSpec, ...],
    changes: SchemaChanges,
) -> tuple[PartSpec, ...]:
    """The parts of a table that exists: as stored, with the schema files and the registry of this run, if it names
    any. Raises OptionError if a format would change, or a declared column in a way that the table cannot follow."""
    fresh = {spec.part: spec for spec in new}
    before = {spec.part: spec for spec in stored}
    for part, requested in (("value", options.value_format), ("key", options.key_format)):
        begun = before[part].format if part in before else None
        fresh_format = fresh[part].format if part in fresh else None
        if requested is not None and begun == requested != fresh_format:
            raise OptionError([f"the fields of table {table}'s {part}s are in a file: give --{part}-schema FILE"])
        if requested is not None and begun != fresh_format:
            raise OptionError(
                [
                    f"table {table} was begun with {part} format {begun or 'raw or json'}, not {requested}: "
                    "choose another name"
                ]
            )
    subjects = {"value": options.value_subject, "key": options.key_subject}
    kept = []
    for spec in stored:
        if spec.part not in fresh:
            kept.append(_with_registry(spec, options))
            continue
        subject = subjects.get(spec.part) or spec.subject or fresh[spec.part].subject
        kept.append(_continued(spec, replace(fresh[spec.part], subject=subject), table, changes))
    return (*kept, *(spec for spec in new if spec.part.startswith("header:") and spec.part not in before))


def _continued(spec: PartSpec, fresh: PartSpec, table: str, changes: SchemaChanges) -> PartSpec:
    """A part with a new schema; what the run's options leave at its default is as stored."""
    schema = replace(fresh.schema, message=fresh.schema.message or spec.schema.message)
    delimiter = spec.delimiter if fresh.delimiter == DEFAULT_DELIMITER else fresh.delimiter
    columns = spec.columns
    if FORMATS[spec.format].declared:
        columns = follow_declared(spec.part, spec.columns, fresh.columns, table, changes)
    return replace(fresh, columns=columns, schema=schema, delimiter=delimiter)


def follow_declared(
    part: str, columns: tuple[Field, ...], fields: tuple[Field, ...], table: str, changes: SchemaChanges
) -> tuple[Field, ...]:
    """The columns of a part after other fields were declared. Raises OptionError with what the table cannot follow."""
    after, followed_changes, faults = with_declared_fields(columns, fields)
    if faults:
        raise OptionError(
            [f"table {table} cannot follow the {part}'s schema: {'; '.join(faults)}: choose another name for the table"]
        )
    changes.followed += [f"{part}: column {change}" for change in followed_changes]
    return after


def _with_registry(spec: PartSpec, options: FormatOptions) -> PartSpec:
    """A stored part with the address and the credentials of this run, which are not stored."""
    if spec.registry is None:
        return spec
    return replace(spec, registry=spec.registry.of_run(options.schema_registry, options.registry_options))


def schema_columns(spec: PartSpec) -> tuple[Field, ...]:
    """The columns that a part's schema has now. Asks the registry. Raises RegistryError, SchemaTextError."""
    chosen = FORMATS[spec.format]
    schema = spec.schema
    if spec.registry is not None:
        schema = Registry(spec.registry).latest(spec.subject, chosen.registry_type)
        schema = replace(schema, message=spec.schema.message)
    return chosen.build(spec.decoder_input(schema)).columns


def followed(parts: tuple[PartSpec, ...], changes: SchemaChanges) -> tuple[PartSpec, ...]:
    """The parts with the columns that their schemas have now. The columns of a new part are no change. Raises
    RegistryError, SchemaTextError."""
    after = []
    for spec in parts:
        columns = schema_columns(spec)
        grown, steps = evolved(spec.columns, columns)
        changes.unfitting += [
            f"{spec.part}: {problem}: records with values that do not fit are rejected"
            for problem in unfitting(spec.columns, columns)
        ]
        if spec.columns:
            changes.followed += [f"{spec.part}: column {step}" for step in steps]
        after.append(spec.with_columns(grown) if steps else spec)
    return tuple(after)
