"""For each message: the functions that read and write its versions.

Functions are compiled on first use and shared between versions whose layouts are equal. When a compiled encode fails,
the interpreter encodes the message again, slowly, to find out which field is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import error
from typing import Any

from signalbox.protocol.codec.compile_decode import DecodeFunction, compile_decoder, compile_long_decoder
from signalbox.protocol.codec.compile_encode import EncodeFunction, compile_encoder
from signalbox.protocol.codec.interpreter import encode_struct
from signalbox.protocol.codec.layout import StructLayout, layout_of
from signalbox.protocol.codec.long_chunks import CooperativeChunks, gather, join_between
from signalbox.protocol.codec.wire_formats import MALFORMED
from signalbox.protocol.codec_errors import DecodeError, EncodeError
from signalbox.protocol.schema import MessageSpec

_UNENCODABLE = (EncodeError, error, AttributeError, TypeError, UnicodeEncodeError)


class _Functions(dict[int, Any]):
    """Version -> compiled function, compiled on first use."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, version: int) -> Any:
        function = self[version] = self._make(version)
        return function


class Codec:
    """Reads and writes all versions of one message. `decode(buffer, version, offset=0)` returns the message that fills
    the buffer from `offset` to its end; it is a closure, which saves a call."""

    __slots__ = (
        "_by_layout", "_decoders", "_encoders", "_long_decoders", "_long_encoders", "classes", "decode", "spec",
    )  # fmt: skip

    def __init__(self, spec: MessageSpec, classes: dict[str, type]) -> None:
        self.spec = spec
        self.classes = classes
        self._decoders = _Functions(self._decoder)
        self._encoders = _Functions(self._encoder)
        self._long_decoders = _Functions(self._long_decoder)
        self._long_encoders = _Functions(self._long_encoder)
        self._by_layout: dict[tuple[str, StructLayout], Any] = {}
        self.decode = self._decode_complete()

    def _decode_complete(self) -> Callable[..., Any]:
        decoders = self._decoders
        name = self.spec.name

        def decode(buffer: bytes | bytearray | memoryview, version: int, offset: int = 0) -> Any:
            """Read the message that fills `buffer` from `offset` to its end. Raises DecodeError."""
            try:
                message, end = decoders[version](buffer, offset)
            except MALFORMED as problem:
                raise DecodeError(f"{name} {version}: {problem}") from None
            if end != len(buffer):
                raise DecodeError(f"{name} {version}: {len(buffer) - end} bytes left over")
            return message

        return decode

    def decode_prefix(self, buffer: bytes | bytearray | memoryview, version: int, offset: int = 0) -> tuple[Any, int]:
        """Returns a message that other bytes may follow, and the offset behind it. Raises DecodeError."""
        try:
            read: tuple[Any, int] = self._decoders[version](buffer, offset)
        except MALFORMED as problem:
            raise DecodeError(f"{self.spec.name} {version}: {problem}") from None
        return read

    def encode(self, message: Any, version: int) -> bytes:
        """All bytes joined. Raises EncodeError."""
        chunks: list[Any] = []
        try:
            self._encoders[version](message, chunks, [])
            return b"".join(chunks)
        except _UNENCODABLE as problem:
            raise self._encode_error(message, version, problem) from None

    def encode_chunks(self, message: Any, version: int) -> list[Any]:
        """Bytes joined between records; every records value is a chunk of its own, unchanged."""
        chunks: list[Any] = []
        places: list[int] = []
        try:
            self._encoders[version](message, chunks, places)
        except _UNENCODABLE as problem:
            raise self._encode_error(message, version, problem) from None
        return join_between(chunks, places)

    def decode_long(self, buffer: bytes | bytearray | memoryview, version: int, offset: int = 0) -> tuple[Any, int]:
        """As `decode_prefix`, for a large buffer inside a cooperative task. Yields. Raises DecodeError."""
        try:
            read: tuple[Any, int] = self._long_decoders[version](buffer, offset)
        except MALFORMED as problem:
            raise DecodeError(f"{self.spec.name} {version}: {problem}") from None
        return read

    def encode_long(self, message: Any, version: int) -> list[Any]:
        """As `encode_chunks`, for a large message inside a cooperative task. Yields."""
        chunks = CooperativeChunks()
        places: list[int] = []
        try:
            self._long_encoders[version](message, chunks, places)
        except _UNENCODABLE as problem:
            raise self._encode_error(message, version, problem) from None
        gather(chunks, places, at_least=1)
        return chunks.gathered

    def _encode_error(self, message: Any, version: int, problem: Exception) -> EncodeError:
        """Returns the interpreter's error for the field on which the compiled code failed."""
        chunks: list[Any] = []
        try:
            encode_struct(chunks, message, self._layout(version, EncodeError), self.spec.name)
            b"".join(chunks)
        except EncodeError as error:
            return type(error)(f"version {version}: {error}")
        except (AttributeError, TypeError) as error:
            return EncodeError(f"{self.spec.name} {version}: {error}")
        return EncodeError(f"{self.spec.name} {version}: {problem}")

    def _layout(self, version: int, rejection: type[ValueError]) -> StructLayout:
        if version not in self.spec.versions:
            raise rejection(f"{self.spec.name} has no version {version}: {self.spec.versions} exist")
        return layout_of(self.spec, version)

    def _decoder(self, version: int) -> DecodeFunction:
        layout = self._layout(version, DecodeError)
        function: DecodeFunction = self._shared(("decode", layout), lambda: compile_decoder(layout, self.classes))
        return function

    def _encoder(self, version: int) -> EncodeFunction:
        layout = self._layout(version, EncodeError)
        function: EncodeFunction = self._shared(("encode", layout), lambda: compile_encoder(layout, self.classes))
        return function

    def _long_decoder(self, version: int) -> DecodeFunction:
        layout = self._layout(version, DecodeError)
        make = lambda: compile_long_decoder(layout, self.classes)  # noqa: E731
        function: DecodeFunction = self._shared(("decode long", layout), make)
        return function

    def _long_encoder(self, version: int) -> EncodeFunction:
        layout = self._layout(version, EncodeError)
        make = lambda: compile_encoder(layout, self.classes, yields=True)  # noqa: E731
        function: EncodeFunction = self._shared(("encode long", layout), make)
        return function

    def _shared(self, key: tuple[str, StructLayout], compile_function: Callable[[], Any]) -> Any:
        function = self._by_layout.get(key)
        if function is None:
            function = self._by_layout[key] = compile_function()
        return function
