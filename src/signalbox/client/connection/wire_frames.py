"""A request on an outbound connection: the highest version that the peer has too, by its ApiVersions response (KIP-35,
KIP-511), and header and body without the 4-byte size in front; likewise the response."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from signalbox.client.failures import VersionUnsupported
from signalbox.common.file_slice import FileSlice
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_response_header, encode_request_header

Chunk = bytes | memoryview


class ListedApi(Protocol):
    """A row of an ApiVersions response."""

    api_key: int
    min_version: int
    max_version: int


class ApiRanges:
    """A peer's version ranges. Immutable: each connection has its own."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: Mapping[int, tuple[int, int]]) -> None:
        self._ranges = dict(ranges)

    @classmethod
    def of_answer(cls, listed: Iterable[ListedApi]) -> ApiRanges:
        """The ranges of a response; ValueError when an API is listed twice or its range is reversed."""
        ranges: dict[int, tuple[int, int]] = {}
        for row in listed:
            if row.api_key in ranges:
                raise ValueError(f"API {row.api_key} is listed twice")
            if row.min_version > row.max_version:
                raise ValueError(f"API {row.api_key} is listed from {row.min_version} to {row.max_version}")
            ranges[row.api_key] = (row.min_version, row.max_version)
        return cls(ranges)

    def __contains__(self, api_key: object) -> bool:
        return api_key in self._ranges

    def __iter__(self) -> Iterator[int]:
        return iter(self._ranges)

    def range_of(self, api_key: int) -> tuple[int, int] | None:
        """(lowest, highest) version of an API, or None when the peer does not support the API."""
        return self._ranges.get(api_key)

    def version_for(self, api_key: int, max_version: int | None = None) -> int:
        """The highest version that both sides support, at most `max_version`; VersionUnsupported when there is none."""
        row = API_TABLE[api_key]
        broker_range = self._ranges.get(api_key)
        if broker_range is None:
            raise VersionUnsupported(f"the broker does not have {row.name} (API {api_key})")
        ours_max = row.max_version if max_version is None else min(row.max_version, max_version)
        version = min(ours_max, broker_range[1])
        if version < max(row.min_version, broker_range[0]):
            raise VersionUnsupported(
                f"{row.name}: the broker takes versions {broker_range[0]} to {broker_range[1]}, "
                f"this client supports {row.min_version} to {ours_max}"
            )
        return version


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
