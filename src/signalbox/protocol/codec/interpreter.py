"""The plain codec: walks a layout field by field, slowly and simply.

It is the reference for the compiled codec (tests compare both on every message and version). It also writes the error
text when an encode fails: it knows the path to the field, the compiled code does not.
"""

from __future__ import annotations

import struct
from typing import Any

from signalbox.common.limits import MAX_ARRAY_ELEMENTS
from signalbox.protocol.codec.layout import FieldLayout, StructLayout
from signalbox.protocol.codec_errors import DecodeError, EncodeError, StringTooLong, ValueDoesNotFit
from signalbox.protocol.lenient_utf8 import decode_utf8
from signalbox.protocol.varint import read_uvarint, uvarint

_FORMATS = {
    "bool": ">?",
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "uint32": ">I",
    "int64": ">q",
    "float64": ">d",
    "uuid": ">16s",
}


class Reader:
    """Reads one buffer front to back; every read checks the bounds."""

    def __init__(self, buffer: bytes | bytearray | memoryview, offset: int) -> None:
        self.view = memoryview(buffer)
        self.offset = offset

    def take(self, size: int) -> memoryview:
        end = self.offset + size
        if size < 0 or end > len(self.view):
            raise DecodeError(f"{size} bytes needed at {self.offset}, the buffer has {len(self.view)}")
        piece = self.view[self.offset : end]
        self.offset = end
        return piece

    def fixed(self, type_name: str) -> Any:
        form = _FORMATS[type_name]
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def uvarint(self) -> int:
        value, self.offset = read_uvarint(self.view, self.offset)
        return value

    def length(self, flexible: bool, form: str) -> int:
        """A length or count; -1 = null."""
        if flexible:
            return self.uvarint() - 1
        length: int = self.fixed(form)
        return max(length, -1)


def decode_struct(reader: Reader, layout: StructLayout, classes: dict[str, type]) -> Any:
    """Read one instance of `layout`; `classes` maps struct names to message classes."""
    values = {field.attribute: _decode_field(reader, field, layout.flexible, classes) for field in layout.fields}
    unknown: dict[int, bytes] = {}
    if layout.flexible:
        by_tag = {field.spec.tag: field for field in layout.tagged}
        for _ in range(reader.uvarint()):
            tag = reader.uvarint()
            body = reader.take(reader.uvarint())
            if tag not in by_tag:
                unknown[tag] = bytes(body)
                continue
            inner = Reader(body, 0)
            field = by_tag[tag]
            values[field.attribute] = _decode_field(inner, field, True, classes)
            if inner.offset != len(body):
                raise DecodeError(f"{layout.name}.{field.spec.name}: tagged field is longer than its value")
    return classes[layout.name](**values, unknown_tags=unknown or None)


def _decode_field(reader: Reader, field: FieldLayout, flexible: bool, classes: dict[str, type]) -> Any:
    if not field.is_array:
        return _decode_value(reader, field, flexible, classes)
    count = reader.length(flexible, "int32")
    if count < 0:
        return _null(field)
    if count > min(len(reader.view) - reader.offset, MAX_ARRAY_ELEMENTS):
        raise DecodeError(f"{field.spec.name}: {count} elements are more than fit or are allowed")
    return [_decode_element(reader, field, flexible, classes) for _ in range(count)]


def _decode_element(reader: Reader, field: FieldLayout, flexible: bool, classes: dict[str, type]) -> Any:
    if field.struct is not None:
        return decode_struct(reader, field.struct, classes)
    if field.type_name in _FORMATS:
        return reader.fixed(field.type_name)
    size = _size(reader, field.type_name, flexible)
    if size < 0:
        raise DecodeError(f"{field.spec.name}: null inside an array")
    return _decode_variable(reader, field.type_name, size)


def _decode_value(reader: Reader, field: FieldLayout, flexible: bool, classes: dict[str, type]) -> Any:
    if field.struct is not None:
        if field.nullable and reader.fixed("int8") < 0:
            return None
        return decode_struct(reader, field.struct, classes)
    if field.type_name in _FORMATS:
        return reader.fixed(field.type_name)
    size = _size(reader, field.type_name, flexible)
    return _null(field) if size < 0 else _decode_variable(reader, field.type_name, size)


def _size(reader: Reader, type_name: str, flexible: bool) -> int:
    size = reader.length(flexible, "int16" if type_name == "string" else "int32")
    if type_name == "string" and size > 32767:
        raise DecodeError(f"a string of {size} bytes: 32767 are allowed")
    return size


def _decode_variable(reader: Reader, type_name: str, size: int) -> Any:
    piece = reader.take(size)
    if type_name == "records":
        return piece
    if type_name == "bytes":
        return bytes(piece)
    return decode_utf8(piece)


def _null(field: FieldLayout) -> None:
    if not field.nullable:
        raise DecodeError(f"{field.spec.name} is null and may not be")


def encode_struct(chunks: list[Any], value: Any, layout: StructLayout, path: str) -> None:
    """Append the bytes of `value`; records stay chunks of their own. `path` = the path to `value`, for errors."""
    for spec in layout.absent:
        attribute_value = getattr(value, spec.attribute)
        if not spec.ignorable and not equals_default(attribute_value, spec.default):
            raise EncodeError(f"{path}.{spec.name} = {attribute_value!r} cannot be encoded at this version")
    for field in layout.fields:
        _encode_field(chunks, getattr(value, field.attribute), field, layout.flexible, f"{path}.{field.spec.name}")
    if layout.flexible:
        _encode_tags(chunks, value, layout, path)


def equals_default(value: Any, default: Any) -> bool:
    """Whether `value` equals the default of a field; () in a schema = an empty array or a struct of defaults."""
    if default != ():
        return bool(value == default)
    if isinstance(value, list | tuple):
        return not value
    return value is not None and bool(value == value._public())


def _encode_tags(chunks: list[Any], value: Any, layout: StructLayout, path: str) -> None:
    bodies: dict[int, bytes] = dict(value.unknown_tags or {})
    for field in layout.tagged:
        attribute_value = getattr(value, field.attribute)
        if equals_default(attribute_value, field.spec.default):
            continue
        inner: list[Any] = []
        _encode_field(inner, attribute_value, field, True, f"{path}.{field.spec.name}")
        if field.spec.tag in bodies:
            raise EncodeError(f"{path}.unknown_tags holds tag {field.spec.tag}, which is {field.spec.name}")
        bodies[field.spec.tag or 0] = b"".join(inner)
    chunks.append(uvarint(len(bodies)))
    for tag in sorted(bodies):
        chunks.append(uvarint(tag) + uvarint(len(bodies[tag])) + bodies[tag])


def _encode_field(chunks: list[Any], value: Any, field: FieldLayout, flexible: bool, path: str) -> None:
    if not field.is_array:
        _encode_value(chunks, value, field, flexible, path, field.nullable)
        return
    if value is None:
        _require_nullable(field.nullable, path)
    _encode_length(chunks, -1 if value is None else len(value), flexible, ">i", path)
    for index, element in enumerate(value or ()):
        where = f"{path}[{index}]"
        if field.struct is not None:
            encode_struct(chunks, element, field.struct, where)
        else:
            _encode_value(chunks, element, field, flexible, where, False)


def _encode_value(chunks: list[Any], value: Any, field: FieldLayout, flexible: bool, path: str, nullable: bool) -> None:
    if field.struct is not None:
        if nullable:
            chunks.append(b"\xff" if value is None else b"\x01")
        if value is not None:
            encode_struct(chunks, value, field.struct, path)
        else:
            _require_nullable(nullable, path)
        return
    if field.type_name in _FORMATS:
        try:
            chunks.append(struct.pack(_FORMATS[field.type_name], value))
        except struct.error as error:
            raise ValueDoesNotFit(f"{path} = {value!r}: {error}") from None
        return
    form = ">h" if field.type_name == "string" else ">i"
    if value is None:
        _require_nullable(nullable, path)
        _encode_length(chunks, -1, flexible, form, path)
        return
    body = _string_bytes(value, path) if field.type_name == "string" else value
    _encode_length(chunks, len(body), flexible, form, path)
    chunks.append(body)


def _string_bytes(value: Any, path: str) -> bytes:
    try:
        body: bytes = value.encode()
    except (AttributeError, UnicodeEncodeError) as error:
        raise ValueDoesNotFit(f"{path} = {value!r}: {error}") from None
    if len(body) > 32767:
        raise StringTooLong(f"{path} has {len(body)} bytes, 32767 are allowed")
    return body


def _encode_length(chunks: list[Any], length: int, flexible: bool, form: str, path: str) -> None:
    if flexible:
        chunks.append(uvarint(length + 1))
        return
    try:
        chunks.append(struct.pack(form, length))
    except struct.error:
        raise EncodeError(f"{path}: {length} is too long for this version") from None


def _require_nullable(nullable: bool, path: str) -> None:
    if not nullable:
        raise EncodeError(f"{path} is None and may not be null at this version")
