"""All formats in one table; the module of a format, and its library, are loaded when the format is used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from signalbox.pipeline.formats.schema_text import NO_SCHEMA, Decoder, Field, SchemaText


def _json(part: DecoderInput) -> Decoder:
    from signalbox.pipeline.formats.json_text import json_decoder

    return json_decoder(part.columns)


def _csv(part: DecoderInput) -> Decoder:
    from signalbox.pipeline.formats.csv_text import csv_decoder

    return csv_decoder(part.columns, part.delimiter)


def _avro(part: DecoderInput) -> Decoder:
    from signalbox.pipeline.formats.avro import avro_decoder

    return avro_decoder(part.schema)


def _protobuf(part: DecoderInput) -> Decoder:
    from signalbox.pipeline.formats.protobuf import protobuf_decoder

    return protobuf_decoder(part.schema, framed=part.framed)


def _json_schema(part: DecoderInput) -> Decoder:
    from signalbox.pipeline.formats.json_schema import json_schema_decoder

    return json_schema_decoder(part.schema)


def _scalar(name: str) -> Callable[[DecoderInput], Decoder]:
    def build(_: DecoderInput) -> Decoder:
        from signalbox.pipeline.formats.scalars import scalar_decoder

        return scalar_decoder(name)

    return build


@dataclass(frozen=True, slots=True)
class DecoderInput:
    """What a decoder is built from: declared columns, or a schema, `framed` if it comes from a registry."""

    columns: tuple[Field, ...] = ()
    schema: SchemaText = NO_SCHEMA
    delimiter: str = ","
    framed: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """`build`: the decoder. `registry_type`: the registry's name for its schemas; "" = the columns are declared, or the
    format has a fixed column. `declared`: whether the columns are declared. `strict`: whether a field without a column
    rejects the record; JSON without a schema may have further fields, which stay in the raw value."""

    build: Callable[[DecoderInput], Decoder]
    registry_type: str = ""
    declared: bool = False
    strict: bool = True


RAW = "raw"
SCALARS = ("string", "int", "long", "float", "double")
FORMATS: dict[str, Format] = {
    "json": Format(_json, declared=True, strict=False),
    "csv": Format(_csv, declared=True),
    "avro": Format(_avro, registry_type="AVRO"),
    "protobuf": Format(_protobuf, registry_type="PROTOBUF"),
    "json-schema": Format(_json_schema, registry_type="JSON"),
    **{name: Format(_scalar(name)) for name in SCALARS},
}
FORMAT_NAMES = (RAW, *FORMATS)
