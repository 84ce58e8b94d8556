"""The records of a batch as the cleaner sees them: where a record begins and ends, its offset, its key, whether it has
a value.

Values and headers are skipped, nothing is copied but keys: this is most of the processor time of a cleaning.
Consecutive records of one size are an array with a stride, as in `record_walk.py`: a slice with that stride has the
same byte of each. Other records are read one by one; lengths of one and two bytes have code of their own, since nearly
all are so short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat

from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.varint import read_zigzag_varint, zigzag_varint

_STEP = 64  # records that are read one by one before the next search for a run of equal sizes
_SHORTEST_RUN = 8
_CONTINUED = bytes(range(128, 256))  # bytes of a varint that another one follows
_LAST_BYTES = bytes(range(128))

RecordSpan = tuple[int, int, int, bytes | None, bool]
"""Begin and end in the buffer, offset delta, key, whether there is a value."""


def record_spans(records: bytes, count: int) -> Iterator[RecordSpan]:
    """The `count` records that fill `records`, uncompressed. KafkaError CORRUPT_MESSAGE if they are not well-formed."""
    at = 0
    try:
        while count:
            if count >= _SHORTEST_RUN:
                length, stride, spans = _equal_sizes(records, at, count)
                if length:
                    yield from spans
                    at += length * stride
                    count -= length
                    continue
            for span in _one_by_one(records, at, min(count, _STEP)):
                yield span
                at = span[1]
            count -= min(count, _STEP)
    except (IndexError, DecodeError) as problem:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"a record cannot be read: {problem}") from None
    if at != len(records):
        raise KafkaError(Error.CORRUPT_MESSAGE, f"{len(records) - at} bytes after the last record")


def _one_by_one(records: bytes, at: int, count: int) -> Iterator[RecordSpan]:
    total = len(records)
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


def _equal_sizes(records: bytes, at: int, count: int) -> tuple[int, int, Iterable[RecordSpan]]:
    """How many records from `at` on are of one size and layout, that size, and the records. 0: the first of them must
    be read alone."""
    size, attributes_at = read_zigzag_varint(records, at)
    stride = attributes_at - at + size
    run = min(count, (len(records) - at) // stride if size > 0 else 0)
    head = records[at:attributes_at]
    if run < _SHORTEST_RUN or records[at + stride : at + stride + len(head)] != head:
        return 0, 0, ()
    _, delta_at = read_zigzag_varint(records, attributes_at + 1)
    _, key_size_at = read_zigzag_varint(records, delta_at)
    key_size, key_at = read_zigzag_varint(records, key_size_at)
    value_size_at = key_at + max(key_size, 0)
    if value_size_at >= at + stride or key_size_at - delta_at > 2:
        return 0, 0, ()
    span_bytes = (run - 1) * stride + 1
    for position in (*range(at, attributes_at), *range(key_size_at, key_at), value_size_at):
        run -= len(records[position : position + span_bytes : stride].lstrip(records[position : position + 1]))
        span_bytes = (run - 1) * stride + 1
    for begin, end in ((attributes_at + 1, delta_at), (delta_at, key_size_at)):
        for position in range(begin, end):
            widths = _LAST_BYTES if position == end - 1 else _CONTINUED
            run -= len(records[position : position + span_bytes : stride].lstrip(widths))
            span_bytes = (run - 1) * stride + 1
    if run < _SHORTEST_RUN:
        return 0, 0, ()
    deltas: Iterable[int] = (delta >> 1 for delta in records[delta_at : delta_at + span_bytes : stride])
    if key_size_at - delta_at == 2:
        low, high = (records[position : position + span_bytes : stride] for position in (delta_at, delta_at + 1))
        deltas = ((lower & 127 | upper << 7) >> 1 for lower, upper in zip(low, high, strict=True))
    end = at + run * stride
    keys = (records[key : key + key_size] for key in range(key_at, key_at + run * stride, stride))
    return (
        run,
        stride,
        zip(
            range(at, end, stride),
            range(at + stride, end + stride, stride),
            deltas,
            repeat(None, run) if key_size < 0 else keys,
            repeat(not records[value_size_at] & 1, run),
            strict=True,
        ),
    )


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
