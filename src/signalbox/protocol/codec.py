"""Per message: which function reads and writes which version.

Functions are made on first use and shared between versions whose layouts are equal.
"""

from __future__ import annotations

from typing import Any

from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.interpreter import Reader, decode_struct, encode_struct
from signalbox.protocol.layout import layout_of
from signalbox.protocol.schema import MessageSpec


class Codec:
    """Reads and writes one message at all its versions."""

    __slots__ = ("classes", "spec")

    def __init__(self, spec: MessageSpec, classes: dict[str, type]) -> None:
        self.spec = spec
        self.classes = classes

    def decode(self, buffer: bytes | bytearray | memoryview, version: int, offset: int) -> Any:
        message, end = self.decode_prefix(buffer, version, offset)
        if end != len(buffer):
            raise DecodeError(f"{self.spec.name} {version}: {len(buffer) - end} bytes left over")
        return message

    def decode_prefix(self, buffer: bytes | bytearray | memoryview, version: int, offset: int) -> tuple[Any, int]:
        if version not in self.spec.versions:
            raise DecodeError(f"{self.spec.name} has no version {version}")
        reader = Reader(buffer, offset)
        return decode_struct(reader, layout_of(self.spec, version), self.classes), reader.offset

    def encode_chunks(self, message: Any, version: int) -> list[Any]:
        if version not in self.spec.versions:
            raise EncodeError(f"{self.spec.name} has no version {version}")
        chunks: list[Any] = []
        encode_struct(chunks, message, layout_of(self.spec, version), self.spec.name)
        return chunks

    def encode(self, message: Any, version: int) -> bytes:
        return b"".join(self.encode_chunks(message, version))
