"""Formats of one value, as Kafka's own serializers write them: string, int, long, float, double."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from signalbox.pipeline.formats.schema_text import DecodeError, Decoder, column

SCALAR_FIELD = "value"


def _string(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise DecodeError("not_utf8") from None


def _packed(layout: str) -> Callable[[bytes], Any]:
    size = struct.calcsize(layout)

    def read(data: bytes) -> Any:
        if len(data) != size:
            raise DecodeError(f"length:{len(data)}_not_{size}")
        return struct.unpack(layout, data)[0]

    return read


_SCALARS: dict[str, tuple[str, Callable[[bytes], Any]]] = {
    "string": ("string", _string),
    "int": ("integer", _packed(">i")),
    "long": ("long", _packed(">q")),
    "float": ("float", _packed(">f")),
    "double": ("double", _packed(">d")),
}
SCALAR_FORMATS = tuple(_SCALARS)


def scalar_decoder(name: str) -> Decoder:
    """The decoder of a scalar format: one field, `value`."""
    column_type, read = _SCALARS[name]

    def decode(data: bytes) -> Mapping[str, Any]:
        return {SCALAR_FIELD: read(data)}

    return Decoder((column(SCALAR_FIELD, column_type),), decode)
