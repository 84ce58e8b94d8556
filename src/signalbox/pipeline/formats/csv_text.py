"""CSV: one line per record, its fields in the order of the declared columns (RFC 4180, quotes included).

An empty field is null. Texts are converted to the column's type; nothing is rounded. CR, LF and CR LF end a line; other
characters that Unicode calls line ends are part of a field.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from signalbox.pipeline.formats.schema_text import DecodeError, Decoder, Field, SchemaTextError

_BOOLEANS = {"true": True, "false": False}
MAX_FIELD_BYTES = 128 * 1024 * 1024  # the csv module's own limit is 128 KiB
_KEPT = ("string", "date", "timestamp")  # texts; `fit.py` reads dates and times


def _boolean(text: str) -> bool:
    return _BOOLEANS[text.lower()]


def _number(read: Callable[[str], Any]) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        if "_" in text:
            raise ValueError  # Python's own grouping of digits
        return read(text)

    return number


def _double(text: str) -> float:
    number = float(text)
    if math.isinf(number) and "inf" not in text.lower():
        raise ValueError  # beyond the range of a double
    return number


def _reader_of(column_type: Any) -> Callable[[str], Any]:
    if column_type in _KEPT:
        return str
    if column_type == "boolean":
        return _boolean
    if column_type in ("byte", "short", "integer", "long"):
        return _number(int)
    if column_type in ("float", "double"):
        return _number(_double)
    if isinstance(column_type, str) and column_type.startswith("decimal"):
        return _number(Decimal)
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
            lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
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
