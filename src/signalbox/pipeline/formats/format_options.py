"""Options of the formats of a table: the same for the command line, the demo and the tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from signalbox.pipeline.formats.format_table import FORMAT_NAMES, FORMATS, SCALARS

DEFAULT_DELIMITER = ","


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """`value_format`, `key_format`: names of `FORMATS`, or raw; None = as the table was begun.

    `value_schema`, `key_schema`: files with the schema (.avsc, .proto, .json), or, for key formats json and csv, with
    the declared fields. Without a file Avro, Protobuf and JSON Schema use `schema_registry`, and values must have its
    framing. `value_message`, `key_message`: the Protobuf message, by its full name. `value_subject`, `key_subject`:
    the registry's subjects; default `<topic>-value`, `<topic>-key`. `headers`: header names with scalar formats.
    `registry_options`: further settings of the registry's client, under confluent-kafka's names.
    """

    value_format: str | None = None
    key_format: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    value_schema: Path | None = None
    key_schema: Path | None = None
    value_message: str = ""
    key_message: str = ""
    csv_delimiter: str = DEFAULT_DELIMITER
    schema_registry: str | None = field(default=None, repr=False)  # may contain a login
    registry_options: Mapping[str, str] = field(default_factory=dict, repr=False)  # may contain passwords
    value_subject: str | None = None
    key_subject: str | None = None

    def faults(self) -> list[str]:
        """All invalid options, each with the valid values."""
        problems = []
        for part, name, schema in (
            ("value", self.value_format, self.value_schema),
            ("key", self.key_format, self.key_schema),
        ):
            if name is not None and name not in FORMAT_NAMES:
                problems.append(f"{part} format {name!r} is none of {', '.join(FORMAT_NAMES)}")
            elif schema is not None and not schema.is_file():
                problems.append(f"{part} schema {schema} is no file")
            elif name in FORMATS and FORMATS[name].registry_type and schema is None and self.schema_registry is None:
                problems.append(f"{part} format {name} needs --{part}-schema FILE or --schema-registry URL")
        for header, name in self.headers.items():
            if name not in SCALARS:
                problems.append(f"header {header} has format {name!r}: give one of {', '.join(SCALARS)}")
        if len(self.csv_delimiter) != 1:
            problems.append(f"CSV delimiter {self.csv_delimiter!r} is not one character")
        return problems


def parse_headers(text: str | None) -> dict[str, str]:
    """`trace=string,attempt=int` as a mapping; a header without a format is a string."""
    headers: dict[str, str] = {}
    for item in (text or "").split(","):
        name, _, format_name = item.strip().partition("=")
        if name:
            headers[name] = format_name or "string"
    return headers
