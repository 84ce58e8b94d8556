"""Per message: which function reads and writes which version.

Functions are compiled on first use and shared between versions whose layouts are equal. When a compiled
encode fails, the interpreter goes over the message again, slowly, to say which field it was.
"""

from __future__ import annotations

from struct import error
from typing import Any

from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.compile_decode import DecodeFunction, compile_decoder
from signalbox.protocol.compile_encode import EncodeFunction, compile_encoder
from signalbox.protocol.interpreter import encode_struct
from signalbox.protocol.layout import StructLayout, layout_of
from signalbox.protocol.schema import MessageSpec
from signalbox.protocol.wire_formats import MALFORMED

_UNENCODABLE = (EncodeError, error, AttributeError, TypeError, UnicodeEncodeError)


class Codec:
    """Reads and writes one message at all its versions."""

    __slots__ = ("_by_layout", "_decoders", "_encoders", "classes", "spec")

    def __init__(self, spec: MessageSpec, classes: dict[str, type]) -> None:
        self.spec = spec
        self.classes = classes
        self._decoders: dict[int, DecodeFunction] = {}
        self._encoders: dict[int, EncodeFunction] = {}
        self._by_layout: dict[tuple[str, StructLayout], Any] = {}

    def decode(self, buffer: bytes | bytearray | memoryview, version: int, offset: int = 0) -> Any:
        """The message that fills `buffer` from `offset` to its end. Raises DecodeError."""
        try:
            message, end = (self._decoders.get(version) or self._decoder(version))(buffer, offset)
        except MALFORMED as problem:
            raise DecodeError(f"{self.spec.name} {version}: {problem}") from None
        if end != len(buffer):
            raise DecodeError(f"{self.spec.name} {version}: {len(buffer) - end} bytes left over")
        return message

    def decode_prefix(self, buffer: bytes | bytearray | memoryview, version: int, offset: int = 0) -> tuple[Any, int]:
        """A message that other bytes may follow, and the offset behind it. Raises DecodeError."""
        try:
            return (self._decoders.get(version) or self._decoder(version))(buffer, offset)
        except MALFORMED as problem:
            raise DecodeError(f"{self.spec.name} {version}: {problem}") from None

    def encode(self, message: Any, version: int) -> bytes:
        """All bytes joined. Raises EncodeError."""
        chunks: list[Any] = []
        try:
            (self._encoders.get(version) or self._encoder(version))(message, chunks, [])
            return b"".join(chunks)
        except _UNENCODABLE as problem:
            raise self._explain(message, version, problem) from None

    def encode_chunks(self, message: Any, version: int) -> list[Any]:
        """Bytes joined between records; every records value is a chunk of its own, untouched."""
        chunks: list[Any] = []
        places: list[int] = []
        try:
            (self._encoders.get(version) or self._encoder(version))(message, chunks, places)
        except _UNENCODABLE as problem:
            raise self._explain(message, version, problem) from None
        joined: list[Any] = []
        start = 0
        for place in places:
            joined.append(b"".join(chunks[start:place]))
            joined.append(chunks[place])
            start = place + 1
        if start < len(chunks):
            joined.append(b"".join(chunks[start:]))
        return joined

    def _explain(self, message: Any, version: int, problem: Exception) -> EncodeError:
        """The interpreter's words for what the compiled code stumbled over."""
        chunks: list[Any] = []
        try:
            encode_struct(chunks, message, self._layout(version, EncodeError), self.spec.name)
            b"".join(chunks)
        except EncodeError as found:
            return EncodeError(f"version {version}: {found}")
        except (AttributeError, TypeError) as found:
            return EncodeError(f"{self.spec.name} {version}: {found}")
        return EncodeError(f"{self.spec.name} {version}: {problem}")

    def _layout(self, version: int, refusal: type[ValueError]) -> StructLayout:
        if version not in self.spec.versions:
            raise refusal(f"{self.spec.name} has no version {version}: {self.spec.versions} exist")
        return layout_of(self.spec, version)

    def _decoder(self, version: int) -> DecodeFunction:
        key = ("decode", self._layout(version, DecodeError))
        if key not in self._by_layout:
            self._by_layout[key] = compile_decoder(key[1], self.classes)
        function: DecodeFunction = self._by_layout[key]
        self._decoders[version] = function
        return function

    def _encoder(self, version: int) -> EncodeFunction:
        key = ("encode", self._layout(version, EncodeError))
        if key not in self._by_layout:
            self._by_layout[key] = compile_encoder(key[1], self.classes)
        function: EncodeFunction = self._by_layout[key]
        self._encoders[version] = function
        return function
