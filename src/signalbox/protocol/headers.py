"""Request and response headers, which precede every body.

Request header 0 (ControlledShutdown 0 only) has no client id, 1 adds it, 2 adds tagged fields. The client id keeps its
classic two-byte length even in header 2, because a broker must be able to read it before it knows the version. Response
header 0 is the correlation id, 1 adds tagged fields; ApiVersions responses always have header 0, so that a client whose
version was rejected can still read the error.
"""

from __future__ import annotations

from struct import Struct, error
from typing import NamedTuple

from signalbox.protocol.api_table import request_header_version, response_header_version
from signalbox.protocol.codec_errors import DecodeError, StringTooLong
from signalbox.protocol.lenient_utf8 import LENIENT
from signalbox.protocol.varint import read_uvarint

_FIXED = Struct(">hhi")
_FIXED_AND_LENGTH = Struct(">hhih")
_CORRELATION_ID = Struct(">i")
_new_tuple = tuple.__new__


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def decode_request_header(buffer: bytes | bytearray | memoryview) -> tuple[RequestHeader, int]:
    """The header of a request frame (without its size) and the offset of the body.

    Ten bytes are read at once: even the header without client id has a body of four behind its eight. An API or version
    that is not in the API table is read with header 1, which is enough to identify the client. Raises DecodeError.
    """
    try:
        api_key, api_version, correlation_id, size = _FIXED_AND_LENGTH.unpack_from(buffer)
        header_version = request_header_version(api_key, api_version)
        if header_version == 0:
            return RequestHeader(api_key, api_version, correlation_id, None), 8
        offset = 10
        client_id = None
        if size >= 0:
            offset += size
            if offset > len(buffer):
                raise DecodeError(f"a client id of {size} bytes in a frame of {len(buffer)}")
            client_id = str(buffer[10:offset], "utf-8", LENIENT)
        if header_version == 2:
            offset = skip_tagged_fields(buffer, offset)
    except (error, IndexError) as problem:
        raise DecodeError(f"not a request header: {problem}") from None
    header: RequestHeader = _new_tuple(RequestHeader, (api_key, api_version, correlation_id, client_id))
    return header, offset


def skip_tagged_fields(buffer: bytes | bytearray | memoryview, offset: int) -> int:
    """The offset behind a section of tagged fields that are not read. Raises DecodeError."""
    if offset < len(buffer) and not buffer[offset]:
        return offset + 1
    count, offset = read_uvarint(buffer, offset)
    if count > len(buffer) - offset:
        raise DecodeError(f"{count} tagged fields claimed in a header")
    for _ in range(count):
        _, offset = read_uvarint(buffer, offset)
        size, offset = read_uvarint(buffer, offset)
        offset += size
        if offset > len(buffer):
            raise DecodeError("a tagged field of the header runs over the end")
    return offset


def encode_request_header(api_key: int, api_version: int, correlation_id: int, client_id: str | None) -> bytes:
    """The request header of this API and version."""
    header_version = request_header_version(api_key, api_version)
    if header_version == 0:
        return _FIXED.pack(api_key, api_version, correlation_id)
    tags = b"\0" if header_version == 2 else b""
    if client_id is None:
        return _FIXED_AND_LENGTH.pack(api_key, api_version, correlation_id, -1) + tags
    name = client_id.encode()
    if len(name) > 32767:
        raise StringTooLong(f"a client id of {len(name)} bytes: 32767 are allowed")
    return _FIXED_AND_LENGTH.pack(api_key, api_version, correlation_id, len(name)) + name + tags


def decode_response_header(buffer: bytes | bytearray | memoryview, api_key: int, api_version: int) -> tuple[int, int]:
    """The correlation id of a response frame and the offset of the body. Raises DecodeError."""
    if len(buffer) < 4:
        raise DecodeError(f"a response of {len(buffer)} bytes")
    correlation_id: int = _CORRELATION_ID.unpack_from(buffer)[0]
    if response_header_version(api_key, api_version) == 0:
        return correlation_id, 4
    return correlation_id, skip_tagged_fields(buffer, 4)


def encode_response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """The response header of this API and version."""
    header = _CORRELATION_ID.pack(correlation_id)
    return header + b"\0" if response_header_version(api_key, api_version) else header
