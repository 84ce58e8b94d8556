"""Reading a segment file batch by batch: headers alone, or complete batches with their checksums.

A scan stops without an error at the first bytes that are not a complete batch: this is the torn tail, which recovery
truncates, or the end of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from crc32c import crc32c

from signalbox.protocol.records.batch_header import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    unpack_header,
)
from signalbox.storage.files.file_system import FileSystem

_CHUNK_SIZE_BYTES = 1 << 20
_HEADER_READ_SIZE_BYTES = 4096
_LOCATION_FIELDS = Struct(">qi11xi")  # base offset, batch length, last offset delta
CRC_START = 21  # from the attributes on; the bytes before may be patched without a new checksum


def scan_headers(file_system: FileSystem, fd: int, position: int, end: int) -> Iterator[BatchHeader]:
    """The batches from `position` on that are complete before `end`, by their headers alone."""
    chunk, chunk_start = b"", position
    while position + HEADER_SIZE <= end:
        if position < chunk_start or position + HEADER_SIZE > chunk_start + len(chunk):
            chunk, chunk_start = file_system.pread(fd, min(_HEADER_READ_SIZE_BYTES, end - position), position), position
            if len(chunk) < HEADER_SIZE:
                return
        batch = header_at(chunk, position - chunk_start, position)
        if batch is None or position + batch.size_bytes > end:
            return
        yield batch
        position += batch.size_bytes


def find_batch(file_system: FileSystem, fd: int, position: int, end: int, offset: int) -> tuple[int, int, int] | None:
    """(position, size, base offset) of the first batch from `position` on that does not end before `offset`."""
    while position + HEADER_SIZE <= end:
        chunk = file_system.pread(fd, min(_HEADER_READ_SIZE_BYTES, end - position), position)
        at, last = 0, len(chunk) - HEADER_SIZE
        if last < 0:
            return None
        while at <= last:
            base_offset, length, last_delta = _LOCATION_FIELDS.unpack_from(chunk, at)
            if length < HEADER_SIZE - LOG_OVERHEAD:
                return None  # not a batch: the file has foreign bytes
            if base_offset + last_delta >= offset:
                return position + at, length + LOG_OVERHEAD, base_offset
            at += length + LOG_OVERHEAD
        position += at
    return None


def scan_batches(file_system: FileSystem, fd: int, position: int, end: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The batches from `position` on with their bytes, as long as their checksums are correct."""
    chunk, chunk_start = memoryview(b""), position
    while position + HEADER_SIZE <= end:
        at = position - chunk_start
        batch = header_at(chunk, at, position) if at + HEADER_SIZE <= len(chunk) else None
        if batch is None or at + batch.size_bytes > len(chunk):
            read_size = max(_CHUNK_SIZE_BYTES, batch.size_bytes if batch else 0)
            chunk, chunk_start = memoryview(file_system.pread(fd, min(read_size, end - position), position)), position
            batch = header_at(chunk, 0, position) if len(chunk) >= HEADER_SIZE else None
            if batch is not None and len(chunk) < batch.size_bytes <= end - position:
                chunk = memoryview(file_system.pread(fd, batch.size_bytes, position))
            if batch is None or len(chunk) < batch.size_bytes:
                return
            at = 0
        data = chunk[at : at + batch.size_bytes]
        if crc32c(data[CRC_START:]) != int.from_bytes(data[CRC_START - 4 : CRC_START], "big"):
            return
        yield batch, data
        position += batch.size_bytes


def header_at(chunk: bytes | memoryview, at: int, position: int) -> BatchHeader | None:
    """The header that begins at `at` in `chunk`, `position` in the file; None if no batch begins there."""
    header = BatchHeader._make((*unpack_header(chunk, at), position))
    is_invalid = (
        header.magic != MAGIC
        or header.batch_length < HEADER_SIZE - LOG_OVERHEAD
        or header.base_offset < 0
        or header.last_offset_delta < 0
    )
    return None if is_invalid else header
