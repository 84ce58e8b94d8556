"""The records of a batch as the cleaner sees them: where a record begins and ends, its offset, its key, whether it has
a value.

Values and headers are skipped, nothing is copied but keys: this loop is most of the processor time of a cleaning.
Lengths of one and two bytes have code of their own, since nearly all are so short.
"""

from __future__ import annotations

from collections.abc import Iterator

from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.varint import read_zigzag_varint, zigzag_varint

RecordSpan = tuple[int, int, int, bytes | None, bool]
"""Begin and end in the buffer, offset delta, key, whether there is a value."""


def record_spans(records: bytes, count: int) -> Iterator[RecordSpan]:
    """The `count` records that fill `records`, uncompressed. KafkaError CORRUPT_MESSAGE if they are not well-formed."""
    at, total = 0, len(records)
    try:
        for _ in range(count):
            begin = at
            size = records[at]
            at += 1
            if size > 127:
                following = records[at]
                if following < 128:
                    size = size & 127 | following << 7
                    at += 1
                else:
                    size, at = _unsigned(records, at - 1)
            end = at + (size >> 1)
            if size & 1 or end > total:
                raise DecodeError(f"a record of {size} bytes, {total - at} are available")
            at += 1
            while records[at] > 127:
                at += 1
            at += 1
            delta = records[at]
            at += 1
            if delta > 127:
                delta, at = _unsigned(records, at - 1)
            size = records[at]
            at += 1
            if size > 127:
                size, at = _unsigned(records, at - 1)
            key = None
            if not size & 1:
                size >>= 1
                key = records[at : at + size]
                at += size
            if at >= end:
                raise DecodeError("a key exceeds the record")
            yield begin, end, delta >> 1, key, not records[at] & 1
            at = end
    except (IndexError, DecodeError) as problem:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"a record cannot be read: {problem}") from None
    if at != total:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"{total - at} bytes after the last record")


def _unsigned(records: bytes, at: int) -> tuple[int, int]:
    """A varint with the sign in its lowest bit, and the position behind it."""
    value, behind = read_zigzag_varint(records, at)
    return (value << 1 if value >= 0 else ~(value << 1)), behind


def timestamp_delta(records: bytes, begin: int) -> int:
    """The timestamp delta of the record at `begin`."""
    _, at = read_zigzag_varint(records, begin)
    return read_zigzag_varint(records, at + 1)[0]


def with_timestamp_delta(records: bytes, begin: int, end: int, delta: int) -> bytes:
    """The record with another timestamp delta."""
    _, attributes_at = read_zigzag_varint(records, begin)
    _, behind = read_zigzag_varint(records, attributes_at + 1)
    body = records[attributes_at : attributes_at + 1] + zigzag_varint(delta) + records[behind:end]
    return zigzag_varint(len(body)) + body
