"""Whole record batches of message format 2: written for producers and coordinators, read for consumers.

A record is a zigzag length, an unused attribute byte, timestamp and offset as differences to the batch's, key, value
and headers, every length zigzag too, -1 for null. The broker's data path does not use this file: it stores batches as
they are (`batch_header`, `validate`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from signalbox.common.limits import MAX_DECOMPRESSED_BATCH_BYTES
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.lenient_utf8 import decode_utf8
from signalbox.protocol.records.batch_header import (
    CONTROL_BIT,
    HEADER_SIZE,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    BatchHeader,
    iter_batch_headers,
    write_batch_header,
)
from signalbox.protocol.records.compression import CODES, compress, compression_name, decompress
from signalbox.protocol.varint import read_zigzag_varint, zigzag_varint


class Record(NamedTuple):
    """One record. `offset` and `timestamp` are absolute; encoding reads `timestamp` and numbers offsets by the order,
    unless `encode_batch` has `keep_offsets`."""

    offset: int = 0
    timestamp: int = -1
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[str, bytes | None]] = ()


def encode_batch(
    records: Iterable[Record],
    *,
    base_offset: int = 0,
    compression: str = "none",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    partition_leader_epoch: int = -1,
    timestamp_ms: int = -1,
    transactional: bool = False,
    control: bool = False,
    keep_offsets: bool = False,
) -> bytes:
    """One batch. A record whose timestamp is -1 gets `timestamp_ms`. With `keep_offsets` the records keep their own
    offsets (gaps as after compaction); otherwise offsets are counted from `base_offset`."""
    rows = list(records)
    if not rows:
        raise ValueError("a batch needs at least one record")
    timestamps = [timestamp_ms if record.timestamp < 0 else record.timestamp for record in rows]
    deltas = [record.offset - base_offset for record in rows] if keep_offsets else range(len(rows))
    base_timestamp = timestamps[0]
    body = b"".join(
        _encode_record(record, timestamp - base_timestamp, delta)
        for record, timestamp, delta in zip(rows, timestamps, deltas, strict=True)
    )
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=partition_leader_epoch,
        magic=2,
        crc=0,
        attributes=CODES[compression] | transactional * TRANSACTIONAL_BIT | control * CONTROL_BIT,
        last_offset_delta=deltas[-1],
        base_timestamp=base_timestamp,
        max_timestamp=max(timestamps),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(rows),
    )
    return write_batch_header(header, compress(compression, body))


def _encode_record(record: Record, timestamp_delta: int, offset_delta: int) -> bytes:
    parts = [
        b"\0",
        zigzag_varint(timestamp_delta),
        zigzag_varint(offset_delta),
        _sized(record.key),
        _sized(record.value),
        zigzag_varint(len(record.headers)),
    ]
    for name, value in record.headers:
        parts.append(_sized(name.encode()))
        parts.append(_sized(value))
    body = b"".join(parts)
    return zigzag_varint(len(body)) + body


def _sized(value: bytes | None) -> bytes:
    return b"\x01" if value is None else zigzag_varint(len(value)) + value


def decode_records(batches: bytes | bytearray | memoryview, *, allow_partial_tail: bool = False) -> Iterator[Record]:
    """Every record of one or more consecutive batches. Raises KafkaError CORRUPT_MESSAGE or
    UNSUPPORTED_FOR_MESSAGE_FORMAT; checksums are not checked here (`check_crc`)."""
    view = memoryview(batches)
    for header in iter_batch_headers(view, allow_partial_tail=allow_partial_tail):
        yield from records_of(view, header)


def records_of(
    view: memoryview, header: BatchHeader, limit_bytes: int = MAX_DECOMPRESSED_BATCH_BYTES
) -> Iterator[Record]:
    """The records of the one batch that `header` was read from; `limit_bytes`: the limit of their decompressed size."""
    start = header.position
    payload = view[start + HEADER_SIZE : start + header.size_bytes]
    if not header.record_count and not len(payload):
        return  # compaction leaves a header without records to keep a producer's last sequence
    body = decompress(compression_name(header.compression), payload, limit_bytes)
    log_append_time = header.max_timestamp if header.attributes & TIMESTAMP_TYPE_BIT else None
    position = 0
    if header.record_count < 0:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"a batch of {header.record_count} records")
    for _ in range(header.record_count):
        try:
            record, position = _decode_record(body, position, header)
        except (DecodeError, IndexError) as problem:
            raise KafkaError(Error.CORRUPT_MESSAGE, f"a record cannot be read: {problem}") from None
        yield record if log_append_time is None else record._replace(timestamp=log_append_time)
    if position != len(body):
        raise KafkaError(Error.CORRUPT_MESSAGE, f"{len(body) - position} bytes after the last record")


def _decode_record(body: bytes, position: int, header: BatchHeader) -> tuple[Record, int]:
    size, position = read_zigzag_varint(body, position)
    end = position + size
    if size < 0 or end > len(body):
        raise DecodeError(f"a record of {size} bytes, {len(body) - position} are available")
    timestamp_delta, position = read_zigzag_varint(body, position + 1)
    offset_delta, position = read_zigzag_varint(body, position)
    key, position = _read_sized(body, position, end)
    value, position = _read_sized(body, position, end)
    header_count, position = read_zigzag_varint(body, position)
    if header_count < 0 or header_count > end - position:
        raise DecodeError(f"{header_count} headers in a record of {size} bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(header_count):
        name, position = _read_sized(body, position, end)
        if name is None:
            raise DecodeError("a header without a name")
        header_value, position = _read_sized(body, position, end)
        headers.append((decode_utf8(name), header_value))
    if position != end:
        raise DecodeError(f"the record ends at {position}, its length says {end}")
    offset = header.base_offset + offset_delta
    return Record(offset, header.base_timestamp + timestamp_delta, key, value, headers), end


def _read_sized(body: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    size, position = read_zigzag_varint(body, position)
    if size < 0:
        return None, position
    if size > end - position:
        raise DecodeError(f"{size} bytes needed, the record has {end - position} left")
    return body[position : position + size], position + size
