"""Whether a batch can hold as many records as its header counts, told without reading a record.

Apache Kafka reads every record of every batch that a producer sends. Here that would cost more than all the rest of an
append, so only small batches are counted, by their records' lengths alone: those that a client under test sends while
it still counts wrong. Of all others it is known how many records there is room for at most, in one comparison: a
header's word alone would move a log's end by two thousand million. What stays unchecked is a row in
docs/conformance.toml; on compacted topics all records are read for their keys.
"""

from __future__ import annotations

from signalbox.protocol.records.batch_header import HEADER_SIZE
from signalbox.protocol.records.compression import NAMES, UnpacksTooLarge, decompress

COUNTED_RECORDS = 16  # up to so many are counted: a walk of two microseconds
COUNTED_COMPRESSED_BYTES = 1_024  # stored bytes of a batch that is unpacked to be counted: 20 us at most, for zstd
_COUNTED_UNPACKED_BYTES = 1_048_576  # what unpacks to more is not looked into: a bomb must not cost more than an append
SMALLEST_RECORD_BYTES = 7  # length, attributes, two deltas, two lengths and a count of headers, a byte each
_SMALLEST_BODY_BYTES = SMALLEST_RECORD_BYTES - 1
_LONGEST_VARINT_BITS = 28


def count_agrees(
    batch: bytes | bytearray | memoryview, compression: int, record_count: int, max_unpacked_bytes: int
) -> bool:
    """Whether one whole batch may have `record_count` records. Raises KafkaError CORRUPT_MESSAGE when a small one
    cannot be unpacked. `LogAppends._passes` says the same of what it does not have to unpack."""
    if compression == 0:
        return unpacked_agrees(batch, record_count, HEADER_SIZE)
    if len(batch) <= COUNTED_COMPRESSED_BYTES:
        limit_bytes = min(_COUNTED_UNPACKED_BYTES, max_unpacked_bytes)
        try:
            unpacked = decompress(NAMES[compression], memoryview(batch)[HEADER_SIZE:], limit_bytes)
        except UnpacksTooLarge:
            pass
        else:
            return unpacked_agrees(unpacked, record_count, 0)
    return record_count * SMALLEST_RECORD_BYTES <= max_unpacked_bytes


def unpacked_agrees(records: bytes | bytearray | memoryview, record_count: int, at: int) -> bool:
    """The same of uncompressed records that begin at `at`."""
    if record_count <= COUNTED_RECORDS:
        return lengths_agree(records, record_count, at)
    return record_count * SMALLEST_RECORD_BYTES <= len(records) - at


def lengths_agree(records: bytes | bytearray | memoryview, record_count: int, at: int = HEADER_SIZE) -> bool:
    """Whether there are just so many uncompressed records from `at` to the end. By default it is one whole batch."""
    end = len(records)
    for _ in range(record_count):
        if at >= end:
            return False
        byte = records[at]
        at += 1
        zigzag = byte & 127
        shift = 7
        while byte > 127:
            if at >= end or shift > _LONGEST_VARINT_BITS:
                return False
            byte = records[at]
            at += 1
            zigzag |= (byte & 127) << shift
            shift += 7
        if zigzag & 1 or zigzag < 2 * _SMALLEST_BODY_BYTES:  # negative, or too short for any record
            return False
        at += zigzag >> 1
    return at == end
