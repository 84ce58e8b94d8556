"""Decodes Arrow batches of records: the record's columns stay, one struct per decoded part and the reason are added.

Runs in Spark's Python workers, in both profiles. A record whose part cannot be decoded has a reason and no structs; a
part that is null is a null struct. A row that Arrow cannot convert, although it fits its columns, rejects its record
and no other. A registry that cannot be reached ends the run with topic, partition and offset: the record may be good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from signalbox.pipeline.formats.part_decoder import PartDecoder, PartSpec, decode_error_reason
from signalbox.pipeline.formats.registry import Registry, RegistryError, RegistrySettings
from signalbox.pipeline.formats.schema_text import DecodeError, SchemaTextError

REASON = "_rejected"
_ARROW_ERRORS = (pa.ArrowException, ValueError, TypeError, OverflowError)


def part_column(part: str) -> str:
    """The column that holds the struct of a part."""
    return "_parsed" if part == "value" else f"_{part.replace(':', '_')}"


def _contents(batch: pa.RecordBatch, part: str) -> list[bytes | None]:
    if not part.startswith("header:"):
        contents: list[bytes | None] = batch.column(part).to_pylist()
        return contents
    name = part.removeprefix("header:")
    carried = batch.column("headers").to_pylist()
    # The last header of a name counts, as in Kafka's `lastHeader`.
    return [next((h["value"] for h in reversed(headers or ()) if h["key"] == name), None) for headers in carried]


class RecordDecoder:
    """Decodes all parts of records. `structs`: the Arrow type of each part's struct, by part."""

    def __init__(self, specs: tuple[PartSpec, ...], structs: dict[str, pa.DataType]) -> None:
        registries: dict[str, Registry] = {}

        def registry_of(settings: RegistrySettings | None) -> Registry | None:
            if settings is None:
                return None
            return registries.setdefault(settings.url, Registry(settings))

        self._parts = [(spec.part, PartDecoder(spec, registry_of(spec.registry))) for spec in specs]
        self._structs = structs

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The decoded batches."""
        for batch in batches:
            yield self.batch(batch)

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """One decoded batch. Raises RegistryError, SchemaTextError."""
        reasons: list[str | None] = [None] * batch.num_rows
        arrays, names = list(batch.columns), list(batch.schema.names)
        for part, decoder in self._parts:
            rows: list[Any] = []
            for index, data in enumerate(_contents(batch, part)):
                row = None
                if data is not None and reasons[index] is None:
                    try:
                        row = decoder.row(data)
                    except DecodeError as error:
                        reasons[index] = decode_error_reason(part, error)
                    except (RegistryError, SchemaTextError) as error:
                        raise type(error)(f"{error} ({part} of {_position(batch, index)})") from error
                rows.append(row)
            try:
                structs = pa.array(rows, type=self._structs[part])
            except _ARROW_ERRORS:
                _reject_unfit(part, rows, reasons, self._structs[part])
                structs = pa.array(rows, type=self._structs[part])
            arrays.append(structs)
            names.append(part_column(part))
        arrays.append(pa.array(reasons, type=pa.string()))
        return pa.RecordBatch.from_arrays(arrays, names=[*names, REASON])


def _is_unfit(value: Any, arrow_type: pa.DataType) -> bool:
    try:
        pa.array([value], type=arrow_type)
    except _ARROW_ERRORS:
        return True
    return False


def _reject_unfit(part: str, rows: list[Any], reasons: list[str | None], struct: pa.StructType) -> None:
    """Removes the rows that Arrow cannot convert, with the first field of each that it rejects as the reason."""
    for index, row in enumerate(rows):
        if _is_unfit(row, struct):
            name = next((field.name for field in struct if _is_unfit(row.get(field.name), field.type)), "$")
            rows[index], reasons[index] = None, decode_error_reason(part, DecodeError(f"type:{name}"))


def _position(batch: pa.RecordBatch, index: int) -> str:
    topic, partition, offset = (batch.column(name)[index].as_py() for name in ("topic", "partition", "offset"))
    return f"topic {topic}, partition {partition}, offset {offset}"
