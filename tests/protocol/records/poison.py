"""Batches with invalid records but a matching header and checksum."""

from __future__ import annotations

from struct import Struct

from crc32c import crc32c

from signalbox.protocol.records.batch_header import read_batch_header, write_batch_header
from signalbox.protocol.records.compression import CODES, compress
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.protocol.varint import zigzag_varint

INT32_MAX = 2**31 - 1


def raw_record(
    index: int,
    *,
    offset_delta: int | None = None,
    timestamp_delta: int = 0,
    key: bytes | None = b"k",
    value: bytes = b"value",
    tail: bytes = b"\0",
    length: int | None = None,
) -> bytes:
    """One record. `tail` follows its value: the number of headers, and the headers."""
    body = b"".join(
        (
            b"\0",
            zigzag_varint(timestamp_delta),
            zigzag_varint(index if offset_delta is None else offset_delta),
            b"\1" if key is None else zigzag_varint(len(key)) + key,
            zigzag_varint(len(value)) + value,
            tail,
        )
    )
    return zigzag_varint(len(body) if length is None else length) + body


def batch_of(records: list[bytes], timestamp_ms: int, compression: str = "none") -> bytes:
    """A batch of these records. The header has a valid checksum and the right record count."""
    model = read_batch_header(encode_batch([Record(value=b"")] * len(records), timestamp_ms=timestamp_ms))
    header = model._replace(attributes=CODES[compression])
    return write_batch_header(header, compress(compression, b"".join(records)))


def counting(batch: bytes, count: int) -> bytes:
    """The batch with another record count in its header and a new checksum."""
    made = bytearray(batch)
    Struct(">i").pack_into(made, 23, count - 1)
    Struct(">i").pack_into(made, 57, count)
    Struct(">I").pack_into(made, 17, crc32c(memoryview(made)[21:]))
    return bytes(made)


UNREADABLE = {
    "header count 2147483647": raw_record(1, tail=zigzag_varint(INT32_MAX)),
    "header count -1": raw_record(1, tail=zigzag_varint(-1)),
    "one header, no bytes": raw_record(1, tail=b"\2"),
    "a header without a name": raw_record(1, tail=b"\2\1\1"),
    "a header value over the end": raw_record(1, tail=b"\2\2h\x40v"),
    "a length that is too short": raw_record(1, length=10),
    "a length that is too long": raw_record(1, length=20),
    "a negative length": raw_record(1, length=-5),
    "bytes behind the headers": raw_record(1, tail=b"\0\0\0"),
}
MISNUMBERED = {f"offset delta {delta}": raw_record(1, offset_delta=delta) for delta in (5, INT32_MAX, -(2**31), -3, 0)}


def poisoned(record: bytes, timestamp_ms: int, compression: str = "none", count: int = 3) -> bytes:
    """A batch of `count` records; the second one is `record`."""
    records = [raw_record(index) for index in range(count)]
    records[1] = record
    return batch_of(records, timestamp_ms, compression)
