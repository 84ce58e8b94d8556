"""JSON without a schema of its own: the columns are declared. Also reads the text for JSON Schema.

Numbers with a fraction or an exponent are decimals: as floats, they would lose digits before their column is known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from signalbox.pipeline.formats.schema_text import DecodeError, Decoder, Field


def _reject_constant(_: str) -> Any:
    raise DecodeError("not_json")


def read_json(data: bytes) -> Any:
    """A JSON value. Raises DecodeError: `not_utf8` or `not_json` (NaN and Infinity are not JSON)."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise DecodeError("not_utf8") from None
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_reject_constant)
    except DecodeError:
        raise
    except (ValueError, RecursionError, InvalidOperation):  # the last: an exponent that no decimal has
        raise DecodeError("not_json") from None


def read_object(data: bytes) -> Mapping[str, Any]:
    """A JSON object. Raises DecodeError."""
    value = read_json(data)
    if not isinstance(value, dict):
        raise DecodeError("not_an_object")
    return value


def json_decoder(columns: tuple[Field, ...]) -> Decoder:
    """The decoder for objects with these fields; further fields are left in the raw value."""
    names = {field["name"] for field in columns}

    def decode(data: bytes) -> Mapping[str, Any]:
        return {name: value for name, value in read_object(data).items() if name in names}

    return Decoder(columns, decode)
