"""Encodes requests and decodes responses: headers and body, without the 4-byte size in front."""

from __future__ import annotations

from typing import Any

from signalbox.common.file_slice import FileSlice
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import decode_response_header, encode_request_header

Chunk = bytes | memoryview


def api_key_of(request: Any) -> ApiKey:
    """The API of a request message."""
    return ApiKey(request.api_key)


def encode_request(message: Any, version: int, correlation_id: int, client_id: str) -> list[Chunk]:
    """Header and body as chunks; records are not copied."""
    chunks: list[Chunk] = [encode_request_header(message.api_key, version, correlation_id, client_id)]
    for chunk in message.encode_chunks(version):
        chunks.append(chunk.read() if isinstance(chunk, FileSlice) else chunk)
    return chunks


def decode_response(response: Any, payload: Chunk, version: int) -> Any:
    """The message of class `response` in `payload`; DecodeError when it is invalid."""
    _, offset = decode_response_header(payload, response.api_key, version)
    return response.decode(payload, version, offset)


def peek_error_code(payload: Chunk) -> int:
    """The error code of an ApiVersions response: behind the correlation id, at every version."""
    return int.from_bytes(payload[4:6], "big", signed=True)
