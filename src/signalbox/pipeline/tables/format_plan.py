"""The shape of a table's records from its formats: stored ones, those of the run's options, and their schemas now.

Changes of schemas are printed and reported once each, in this run: a type that the table does not follow is found again
before every batch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pyspark.sql.types import StructType

from signalbox.pipeline.events import PipelineEvent, Reporting, Step
from signalbox.pipeline.formats.evolution import SchemaChanges
from signalbox.pipeline.formats.format_table import FORMATS
from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.resolve import (
    continued_parts,
    follow_declared,
    followed,
    new_parts,
    schema_file_text,
    with_begun_formats,
)
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
    """The formats of one table in one run. `changes`: all changes of schemas that the run has found."""

    def __init__(self, options: TablesOptions, reporting: Reporting) -> None:
        self.changes = SchemaChanges()
        self._options = options
        self._reporting = reporting
        self._unfitting: set[str] = set()  # found at the last look

    @property
    def _folder(self) -> StateFolder:
        return StateFolder(self._options.state_folder, self._options.table_name)

    def _stored(self) -> tuple[PartSpec, ...]:
        try:
            return read_formats(self._folder.path) or ()
        except ValueError as error:
            raise StateError(str(error)) from error

    def _requested(self, ddl: str | None) -> str | None:
        """The fields that the options declare for the value of a table that exists; None = none."""
        options = self._options
        if options.schema not in (None, "infer"):
            return options.schema
        value = next((spec.format for spec in self._stored() if spec.part == "value"), "json" if ddl else None)
        name = options.formats.value_format or value
        if options.formats.value_schema is None or name not in FORMATS or not FORMATS[name].declared:
            return None
        return schema_file_text(options.formats.value_schema).strip()

    def declared(self, ddl: str | None) -> str | None:
        """The declared fields of a table that exists, after those of the options. Raises OptionError, SchemaError,
        SchemaTextError, StateError."""
        requested = self._requested(ddl)
        if ddl is None or requested in (None, ddl):
            return ddl
        table, fields = self._options.table_name, _declared(requested)
        changes = SchemaChanges()
        columns = follow_declared("value", _declared(ddl), fields, table, changes)
        if not any(spec.part == "value" for spec in self._stored()):
            self._report(changes)  # else with the part, below
        return requested if columns == fields else StructType.fromJson({"type": "struct", "fields": columns}).toDDL()

    def shape(self, ddl: str | None) -> RecordShape:
        """The shape for a run. Raises OptionError, SchemaError, SchemaTextError, RegistryError, StateError."""
        options, changes = self._options, SchemaChanges()
        requested = options.schema if options.schema != "infer" else None
        if self._folder.read() is None:
            parts = new_parts(options.formats, options.topic, ddl or requested, _declared)
        else:
            stored = self._stored()
            is_native = not any(spec.part == "value" for spec in stored)
            formats = with_begun_formats(options.formats, stored, requested or (ddl if is_native else None))
            parts = new_parts(formats, options.topic, ddl or requested, _declared)
            parts = continued_parts(stored, formats, options.table_name, parts, changes)
        has_value = any(spec.part == "value" for spec in parts)
        shape = RecordShape(None if has_value else fields_of(ddl), parts=followed(parts, changes))
        _reject_equal_names(shape)
        self._report(changes)
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
        changes = SchemaChanges()
        renewed: dict[str, PartSpec] = {spec.part: spec for spec in followed(registered, changes)}
        followed_shape = replace(shape, parts=tuple(renewed.get(spec.part, spec) for spec in shape.parts))
        _reject_equal_names(followed_shape)
        self._report(changes)
        return followed_shape

    def _report(self, changes: SchemaChanges) -> None:
        fresh = [line for line in changes.unfitting if line not in self._unfitting]
        self._unfitting = set(changes.unfitting)
        self.changes.followed += changes.followed
        self.changes.unfitting += fresh
        for step, lines in ((Step.SCHEMA_CHANGED, changes.followed), (Step.TYPE_CHANGED, fresh)):
            for line in lines:
                self._reporting.say(f"{self._options.table_name}: {line}")
                if self._reporting.listener is not None:
                    event = PipelineEvent(step=step, pipeline=self._options.table_name, batch_id=-1, detail=line)
                    self._reporting.listener(event)
