"""The shape of a table's records from its formats: stored ones, those of the run's options, and their schemas now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.resolve import continued_parts, followed, new_parts
from signalbox.pipeline.formats.schema_text import Field
from signalbox.pipeline.formats.stored_formats import read_formats, write_formats
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.table_state import StateError, StateFolder
from signalbox.pipeline.tables.declared_columns import SchemaError, fields_of
from signalbox.pipeline.tables.decode_records import decoded_columns
from signalbox.pipeline.tables.projection import RecordShape


def _declared(ddl: str) -> tuple[Field, ...]:
    fields = fields_of(ddl)
    assert fields is not None
    return tuple(fields.jsonValue()["fields"])


def _reject_equal_names(shape: RecordShape) -> None:
    names = [name.lower() for name in shape.kept]
    names += [column.name.lower() for column in decoded_columns(shape.parts)]
    names += [shape.output_name(field.name).lower() for field in shape.value_fields().fields]
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise SchemaError(f"the table would have more than one column {', '.join(repeated)}")


class FormatPlan:
    """The formats of one table in one run."""

    def __init__(self, options: TablesOptions, say: Callable[[str], None]) -> None:
        self._options = options
        self._say = lambda line: say(f"{options.table_name}: {line}")

    def shape(self, ddl: str | None) -> RecordShape:
        """The shape for a run. Raises OptionError, SchemaError, SchemaTextError, RegistryError, StateError."""
        options, folder = self._options, StateFolder(self._options.warehouse, self._options.table_name)
        try:
            stored = read_formats(folder.path)
        except ValueError as error:
            raise StateError(str(error)) from error
        declared = ddl or (options.schema if options.schema != "infer" else None)
        parts = new_parts(options.formats, options.topic, declared, _declared)
        if folder.read() is not None:
            parts = continued_parts(stored or (), options.formats, options.table_name, parts)
        has_value = any(spec.part == "value" for spec in parts)
        shape = RecordShape(None if has_value else fields_of(ddl), parts=followed(parts, self._say))
        _reject_equal_names(shape)
        return shape

    def store(self, folder: StateFolder, shape: RecordShape) -> None:
        """Stores the formats beside the table's state."""
        if shape.parts:
            write_formats(folder.path, shape.parts)

    def follow(self, shape: RecordShape) -> RecordShape:
        """Before a batch: the shape with the columns of the registry's newest schemas. Raises RegistryError."""
        registered = tuple(spec for spec in shape.parts if spec.registry is not None)
        if not registered:
            return shape
        renewed: dict[str, PartSpec] = {spec.part: spec for spec in followed(registered, self._say)}
        followed_shape = replace(shape, parts=tuple(renewed.get(spec.part, spec) for spec in shape.parts))
        _reject_equal_names(followed_shape)
        return followed_shape
