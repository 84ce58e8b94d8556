"""Decodes one part of a record (value, key or a header) into the row of its columns.

A value from a registry carries the id of its writer's schema; the decoders of the ids are kept. Whatever schema a
record was written with, its fields are fitted into the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from signalbox.pipeline.formats.fit import row_fit
from signalbox.pipeline.formats.format_table import FORMATS, DecoderInput
from signalbox.pipeline.formats.registry import Registry, RegistrySettings, split_frame
from signalbox.pipeline.formats.schema_text import NO_SCHEMA, DecodeError, Decoder, Field, SchemaText


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSpec:
    """How a part is decoded; it is sent to Spark's workers.

    `part`: "value", "key" or "header:<name>". `columns`: the columns of the table for this part, without prefix.
    `registry`: where schemas are looked up by id; None = `schema` is the one schema, and values are not framed.
    `subject`: the registry's subject whose newest schema gives the columns.
    """

    part: str
    format: str
    columns: tuple[Field, ...] = ()
    schema: SchemaText = NO_SCHEMA
    registry: RegistrySettings | None = None
    subject: str = ""
    delimiter: str = ","

    def decoder_input(self, schema: SchemaText) -> DecoderInput:
        """What a decoder of this part needs with this schema."""
        return DecoderInput(self.columns, schema, self.delimiter, framed=self.registry is not None)

    def with_columns(self, columns: tuple[Field, ...]) -> PartSpec:
        """The same with other columns."""
        return replace(self, columns=columns)


class PartDecoder:
    """The decoder of a part."""

    def __init__(self, spec: PartSpec, registry: Registry | None = None) -> None:
        self._spec = spec
        self._format = FORMATS[spec.format]
        self._fit = row_fit(spec.columns, self._format.strict)
        self._registry = registry
        if spec.registry is not None and registry is None:
            self._registry = Registry(spec.registry)
        self._by_id: dict[int, Decoder] = {}
        self._fixed = None if spec.registry else self._format.build(spec.decoder_input(spec.schema))

    def row(self, data: bytes) -> Mapping[str, Any]:
        """The row of a part. Raises DecodeError, RegistryError."""
        if self._fixed is not None:
            return self._fit(self._fixed.decode(data))
        schema_id, content = split_frame(data)
        return self._fit(self._decoder(schema_id).decode(content))

    def _decoder(self, schema_id: int) -> Decoder:
        decoder = self._by_id.get(schema_id)
        if decoder is None:
            assert self._registry is not None
            schema = self._registry.by_id(schema_id, self._format.registry_type)
            decoder = self._by_id[schema_id] = self._format.build(self._spec.decoder_input(schema))
        return decoder


def decode_error_reason(part: str, error: DecodeError) -> str:
    """The reason of a rejected record: that of the value alone, else with the part in front."""
    return str(error) if part == "value" else f"{part}:{error}"
