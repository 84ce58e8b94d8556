"""Protocol Buffers: a `.proto` text is compiled by protoc (in `grpcio-tools`), records are read by `protobuf`.

| field | column |
|---|---|
| message | STRUCT; STRING with JSON text inside itself |
| uint32, fixed32 / uint64, fixed64 | BIGINT / DECIMAL(20,0) |
| enum | STRING, the number as text if the schema has no name for it |
| Timestamp, wrappers such as Int32Value | TIMESTAMP, the wrapped type |
| repeated, map | ARRAY, MAP |

A field without presence has its default when it is absent, one with presence (optional, message, oneof) is null.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.message import DecodeError as MessageError
from google.protobuf.message import Message

from signalbox.pipeline.formats.schema_text import (
    DecodeError,
    Decoder,
    JsonType,
    SchemaText,
    SchemaTextError,
    array,
    column,
    map_of,
    struct,
)

_FILE = "value_schema.proto"
_WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Bool", "Int32", "Int64", "UInt32", "UInt64", "Float", "Double", "String", "Bytes")
}
_TIMESTAMP = "google.protobuf.Timestamp"
_CPP_TYPES: dict[int, str] = {
    FieldDescriptor.CPPTYPE_INT32: "integer",
    FieldDescriptor.CPPTYPE_INT64: "long",
    FieldDescriptor.CPPTYPE_UINT32: "long",
    FieldDescriptor.CPPTYPE_UINT64: "decimal(20,0)",
    FieldDescriptor.CPPTYPE_DOUBLE: "double",
    FieldDescriptor.CPPTYPE_FLOAT: "float",
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_ENUM: "string",
}
Read = Callable[[Any], Any]


def _compiled(schema: SchemaText) -> FileDescriptor:
    """The file of a schema, with its references, by protoc. Raises SchemaTextError."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in (*schema.references, (_FILE, schema.text)):
            path = (root / name).resolve()
            if root.resolve() not in path.parents:
                raise SchemaTextError(f"the Protobuf schema refers to {name}, which is outside its folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        output = root / "set.bin"
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{root}", "--include_imports"]
        run = subprocess.run(
            [*command, f"--descriptor_set_out={output}", _FILE], capture_output=True, text=True, check=False
        )
        if run.returncode:
            lines = run.stderr.strip().splitlines() or ["protoc failed"]
            problem = next((line for line in lines if line.partition(":")[0].endswith(".proto")), lines[-1])
            raise SchemaTextError(f"the Protobuf schema cannot be read: {problem}")
        files = descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool.FindFileByName(_FILE)


def _message_named(file: FileDescriptor, name: str) -> Descriptor:
    top = list(file.message_types_by_name.values())
    if not top:
        raise SchemaTextError("the Protobuf schema has no message")
    if not name:
        return top[0]
    try:
        return file.pool.FindMessageTypeByName(name)
    except KeyError:
        names = ", ".join(message.full_name for message in top)
        raise SchemaTextError(f"the Protobuf schema has no message {name}; it has {names}") from None


def _as_text(message: Message) -> str:
    return str(json_format.MessageToJson(message, indent=None, preserving_proto_field_name=True))


def _message_kind(descriptor: Descriptor, inside: tuple[str, ...]) -> tuple[JsonType, Read]:
    name = descriptor.full_name
    if name in inside:
        return "string", _as_text
    if name == _TIMESTAMP:
        return "timestamp", lambda message: message.ToDatetime(tzinfo=UTC)
    if name in _WRAPPERS:
        kind, read = _single_kind(descriptor.fields_by_name["value"], inside)
        return kind, lambda message: read(message.value)
    fields = [(field.name, *_field_kind(field, (*inside, name)), field.has_presence) for field in descriptor.fields]
    if not fields:
        return "string", _as_text  # a table has no struct without fields

    def read_message(message: Message) -> Mapping[str, Any]:
        return {
            field: None if presence and not message.HasField(field) else read(getattr(message, field))
            for field, _, read, presence in fields
        }

    return struct([column(field, kind) for field, kind, _, _ in fields]), read_message


def _single_kind(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[JsonType, Read]:
    if field.message_type is not None:
        return _message_kind(field.message_type, inside)
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        return "string", lambda number: names.get(number, str(number))
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return ("binary" if field.type == FieldDescriptor.TYPE_BYTES else "string"), lambda value: value
    return _CPP_TYPES[field.cpp_type], lambda value: value


def _field_kind(field: FieldDescriptor, inside: tuple[str, ...]) -> tuple[JsonType, Read]:
    entry = field.message_type
    if entry is not None and entry.GetOptions().map_entry:
        key_kind, _ = _single_kind(entry.fields_by_name["key"], inside)
        kind, read = _single_kind(entry.fields_by_name["value"], inside)
        return map_of(key_kind, kind), lambda content: {key: read(content[key]) for key in content}
    kind, read = _single_kind(field, inside)
    if field.is_repeated:
        return array(kind), lambda content: [read(inner) for inner in content]
    return kind, read


def _at_indexes(file: FileDescriptor, indexes: tuple[int, ...]) -> Descriptor:
    try:
        message = list(file.message_types_by_name.values())[indexes[0]]
        for index in indexes[1:]:
            # The Java serializer counts the messages of the text: the entry types of map fields are not among them.
            nested = [inner for inner in message.nested_types if not inner.GetOptions().map_entry]
            message = nested[index]
    except IndexError:
        raise DecodeError(f"message_index:{'.'.join(map(str, indexes))}") from None
    return message


def message_indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """The message indexes behind a registry's schema id, and the content: zigzag varints, their number first; a single
    0 is the first message. Raises DecodeError."""
    position = 0

    def varint() -> int:
        nonlocal position
        shift = number = 0
        while True:
            if position >= len(data) or shift > 35:
                raise DecodeError("message_index")
            byte = data[position]
            position += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return (number >> 1) ^ -(number & 1)

    count = varint()
    if not 0 <= count <= len(data):
        raise DecodeError("message_index")
    indexes = tuple(varint() for _ in range(count)) or (0,)
    if any(index < 0 for index in indexes):
        raise DecodeError("message_index")
    return indexes, data[position:]


def protobuf_decoder(schema: SchemaText, framed: bool = False) -> Decoder:
    """The decoder for a `.proto` text; `framed`: message indexes are in front of each value. Reasons: `not_protobuf`,
    `message_index`. Raises SchemaTextError."""
    file = _compiled(schema)
    readers: dict[str, tuple[type[Message], Read]] = {}

    def reader_of(descriptor: Descriptor) -> tuple[type[Message], Read]:
        if descriptor.full_name not in readers:
            _, read = _message_kind(descriptor, ())
            readers[descriptor.full_name] = message_factory.GetMessageClass(descriptor), read
        return readers[descriptor.full_name]

    chosen = _message_named(file, schema.message)
    top, _ = _message_kind(chosen, ())
    if not isinstance(top, Mapping):
        raise SchemaTextError(f"the Protobuf message {chosen.full_name} has no fields")

    def decode(data: bytes) -> Mapping[str, Any]:
        descriptor = chosen
        if framed:
            indexes, data = message_indexes(data)
            descriptor = _at_indexes(file, indexes)
        message_class, read = reader_of(descriptor)
        try:
            value: Mapping[str, Any] = read(message_class.FromString(data))
        except (MessageError, json_format.Error, ValueError, OverflowError, TypeError) as error:
            # The JSON text of a message inside itself: infinity in a Struct, an Any of a type that the schema lacks.
            raise DecodeError("not_protobuf") from error
        return value

    return Decoder(tuple(top["fields"]), decode)
