"""The options of `signalbox pipeline tables` for formats of values, keys and headers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import fail
from signalbox.pipeline.formats.format_options import DEFAULT_DELIMITER, FormatOptions, parse_headers

_NAMES = "raw, json, csv, avro, protobuf, json-schema, string, int, long, float or double"

ValueFormat = Annotated[
    str | None, typer.Option(help=f"Format of values: {_NAMES}; default: json with --schema, else raw.")
]
KeyFormat = Annotated[str | None, typer.Option(help=f"Format of keys: {_NAMES}; default: raw.")]
Headers = Annotated[
    str | None, typer.Option(help="Headers as columns: 'trace=string,attempt=int'; default: the list of headers only.")
]
ValueSchema = Annotated[
    Path | None, typer.Option(help="Schema of values: a file with an Avro, Protobuf or JSON Schema, or with fields.")
]
KeySchema = Annotated[Path | None, typer.Option(help="Schema of keys; for json and csv a file with the fields.")]
ValueMessage = Annotated[str, typer.Option(help="Full name of the Protobuf message; default: the first one.")]
KeyMessage = Annotated[str, typer.Option(help="Full name of the Protobuf message of keys.")]
CsvDelimiter = Annotated[str, typer.Option(help="Delimiter of CSV fields.")]
SchemaRegistry = Annotated[
    str | None, typer.Option(help="URL of a schema registry with Confluent's API: values carry schema ids.")
]
RegistryConfig = Annotated[
    Path | None, typer.Option(help="Properties of the registry's client, such as basic.auth.user.info.")
]
ValueSubject = Annotated[str | None, typer.Option(help="Subject of values; default: <topic>-value.")]
KeySubject = Annotated[str | None, typer.Option(help="Subject of keys; default: <topic>-key.")]


def read_properties(path: Path | None) -> dict[str, str]:
    """The `key=value` lines of a file; comments begin with #. Ends with an error line if it cannot be read."""
    if path is None:
        return {}
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        fail(f"--registry-config {path} cannot be read: {getattr(error, 'strerror', None) or error}", code=2)
    pairs = (line.partition("=") for line in lines if line.strip() and not line.lstrip().startswith("#"))
    return {key.strip(): value.strip() for key, _, value in pairs}


def format_options(
    value: tuple[str | None, Path | None, str, str | None],
    key: tuple[str | None, Path | None, str, str | None],
    headers: str | None,
    csv_delimiter: str,
    registry: tuple[str | None, Path | None],
) -> FormatOptions:
    """The options as one object; `value` and `key`: format, schema file, message, subject; `registry`: URL, file."""
    return FormatOptions(
        value_format=value[0],
        value_schema=value[1],
        value_message=value[2],
        value_subject=value[3],
        key_format=key[0],
        key_schema=key[1],
        key_message=key[2],
        key_subject=key[3],
        headers=parse_headers(headers),
        csv_delimiter=csv_delimiter,
        schema_registry=registry[0],
        registry_options=read_properties(registry[1]),
    )


def begun_formats(
    url: str | None, config: Path | None, value_schema: Path | None = None, key_schema: Path | None = None
) -> FormatOptions:
    """The options of commands for tables that exist: their formats, with this registry and these new schemas."""
    return format_options(
        (None, value_schema, "", None), (None, key_schema, "", None), None, DEFAULT_DELIMITER, (url, config)
    )
