"""Whether a small batch holds as many records as its header counts, told by the records' lengths alone.

Apache Kafka reads every record of every batch that a producer sends. Here that would cost more than all the rest of an
append, so only uncompressed batches of up to `COUNTED_RECORDS` records are walked, length by length: those that a
client under test sends while it still counts wrong. Larger and compressed ones are taken at their header's word
(a row in docs/conformance.toml), except on compacted topics, whose records are all read for their keys.
"""

from __future__ import annotations

from signalbox.protocol.records.batch_header import HEADER_SIZE

COUNTED_RECORDS = 16
_SMALLEST_RECORD_BYTES = 6  # attributes, two deltas, two lengths and a count of headers, a byte each
_LONGEST_VARINT_BITS = 28


def lengths_agree(batch: bytes | bytearray | memoryview, record_count: int) -> bool:
    """Whether an uncompressed batch consists of just so many records. `batch` is one whole batch."""
    at, end = HEADER_SIZE, len(batch)
    for _ in range(record_count):
        if at >= end:
            return False
        byte = batch[at]
        at += 1
        zigzag = byte & 127
        shift = 7
        while byte > 127:
            if at >= end or shift > _LONGEST_VARINT_BITS:
                return False
            byte = batch[at]
            at += 1
            zigzag |= (byte & 127) << shift
            shift += 7
        if zigzag & 1 or zigzag < 2 * _SMALLEST_RECORD_BYTES:  # negative, or too short for any record
            return False
        at += zigzag >> 1
    return at == end
