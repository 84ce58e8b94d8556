"""From the options of a run, and the formats that its table was begun with, to the parts that are decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from signalbox.pipeline.formats.evolution import evolved, unfitting
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.formats.format_table import FORMATS, RAW
from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.registry import Registry, RegistrySettings
from signalbox.pipeline.formats.schema_text import Field, SchemaText, SchemaTextError
from signalbox.pipeline.options import OptionError

FieldsOf = Callable[[str], tuple[Field, ...]]


def _file_text(path: Path) -> str:
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
        ddl = declared or (_file_text(file).strip() if file else None)
        if not ddl:
            where = "--schema FIELDS" if is_value else "--key-schema FILE with the fields"
            raise OptionError([f"{part} format {name} needs declared fields: {where}"])
        return spec.with_columns(fields_of(ddl))
    if not chosen.registry_type:
        return spec
    if file is not None:
        return replace(spec, schema=SchemaText(_file_text(file), (), message))
    assert options.schema_registry is not None
    registry = RegistrySettings.of(options.schema_registry, options.registry_options)
    return replace(spec, registry=registry, subject=subject or f"{topic}-{part}")


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


def continued_parts(
    stored: tuple[PartSpec, ...], options: FormatOptions, table: str, new: tuple[PartSpec, ...]
) -> tuple[PartSpec, ...]:
    """The parts of a table that exists: as stored, with the schema files and the registry of this run, if it names
    any. Raises OptionError if a format would change."""
    fresh = {spec.part: spec for spec in new}
    before = {spec.part: spec for spec in stored}
    for part, requested in (("value", options.value_format), ("key", options.key_format)):
        begun = before[part].format if part in before else None
        fresh_format = fresh[part].format if part in fresh else None
        if requested is not None and begun != fresh_format:
            raise OptionError(
                [
                    f"table {table} was begun with {part} format {begun or 'raw or json'}, not {requested}: "
                    "choose another name"
                ]
            )
    kept = [
        replace(fresh[spec.part], columns=spec.columns) if spec.part in fresh else _with_registry(spec, options)
        for spec in stored
    ]
    return (*kept, *(spec for spec in new if spec.part.startswith("header:") and spec.part not in before))


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


def followed(parts: tuple[PartSpec, ...], say: Callable[[str], None]) -> tuple[PartSpec, ...]:
    """The parts with the columns that their schemas have now. A new part's columns are not reported. Raises
    RegistryError, SchemaTextError."""
    after = []
    for spec in parts:
        columns = schema_columns(spec)
        grown, changes = evolved(spec.columns, columns)
        for problem in unfitting(spec.columns, columns):
            say(f"{spec.part}: {problem}: records with values that do not fit are rejected")
        if spec.columns:
            for change in changes:
                say(f"{spec.part}: column {change}")
        after.append(spec.with_columns(grown) if changes else spec)
    return tuple(after)
