"""CSV: one line per record, its fields in the order of the declared columns (RFC 4180, quotes included).

An empty field is null. Texts are converted to the column's type; nothing is rounded.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from signalbox.pipeline.formats.schema_text import DecodeError, Decoder, Field, SchemaTextError

_BOOLEANS = {"true": True, "false": False}
MAX_FIELD_BYTES = 128 * 1024 * 1024  # the csv module's own limit is 128 KiB
_KEPT = ("string", "date", "timestamp")  # texts; `fit.py` reads dates and times


def _boolean(text: str) -> bool:
    return _BOOLEANS[text.lower()]


def _reader_of(column_type: Any) -> Callable[[str], Any]:
    if column_type in _KEPT:
        return str
    if column_type == "boolean":
        return _boolean
    if column_type in ("byte", "short", "integer", "long"):
        return int
    if column_type in ("float", "double"):
        return float
    if isinstance(column_type, str) and column_type.startswith("decimal"):
        return Decimal
    raise SchemaTextError(f"a CSV field cannot have the type {column_type}: declare it as STRING")


def csv_decoder(columns: tuple[Field, ...], delimiter: str) -> Decoder:
    """The decoder for lines with these columns. Reasons: `not_utf8`, `not_csv`, `fields:<found>_not_<declared>`,
    `type:<field>`. Raises SchemaTextError for a nested column."""
    readers = [(field["name"], _reader_of(field["type"])) for field in columns]
    csv.field_size_limit(MAX_FIELD_BYTES)

    def decode(data: bytes) -> Mapping[str, Any]:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise DecodeError("not_utf8") from None
        try:
            lines = list(csv.reader(text.splitlines(keepends=True), delimiter=delimiter, strict=True))
        except csv.Error:
            raise DecodeError("not_csv") from None
        if len(lines) != 1:
            raise DecodeError(f"lines:{len(lines)}_not_1")
        if len(lines[0]) != len(readers):
            raise DecodeError(f"fields:{len(lines[0])}_not_{len(readers)}")
        row: dict[str, Any] = {}
        for (name, read), content in zip(readers, lines[0]):
            try:
                row[name] = read(content) if content else None
            except (ValueError, KeyError, InvalidOperation):
                raise DecodeError(f"type:{name}") from None
        return row

    return Decoder(columns, decode)
