"""A leader's checks of the records of a batch.

The records are as many as the header counts, well-formed, with keys where the topic is compacted and with timestamps in
range, as Kafka's LogValidator checks, and numbered without a gap, which Kafka does not check. Records of a compressed
batch are at most `max.decompressed.message.bytes` large.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.limits import MAX_DECOMPRESSED_BATCH_BYTES
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.protocol.records.record_errors import (
    NO_TIMESTAMP,
    RecordRules,
    check_record_sizes,
    check_records_one_by_one,
)
from signalbox.protocol.records.record_walk import NEEDS_FULL_CHECK, walk_records

NO_TIMESTAMP_LIMIT_MS = 9223372036854775807
SMALLEST_RECORD_BYTES = 7  # length, attributes, two deltas, two lengths and a count of headers, a byte each


@dataclass(frozen=True, slots=True)
class BatchRules:
    """The rules of a topic for the batches that are appended to it. Timestamp limits are distances from
    `now_ms`, checked on CreateTime only."""

    max_message_bytes: int = 1048588
    timestamp_before_max_ms: int = NO_TIMESTAMP_LIMIT_MS
    timestamp_after_max_ms: int = 3600000
    log_append_time: bool = False
    key_required: bool = False
    control_allowed: bool = False
    max_unpacked_bytes: int = MAX_DECOMPRESSED_BATCH_BYTES
    max_unpacked_record_bytes: int = MAX_DECOMPRESSED_BATCH_BYTES
    reads_compressed: bool = True


def check_records(
    records: bytes | bytearray | memoryview, at: int, header: BatchHeader, rules: BatchRules, now_ms: int | None
) -> BatchHeader:
    """Returns the header of a batch whose uncompressed records begin at `at`, with their highest timestamp. Yields."""
    base, count = header.base_timestamp, header.record_count
    if count * SMALLEST_RECORD_BYTES > len(records) - at:
        raise KafkaError(Error.INVALID_RECORD, f"the batch does not hold {count} records")
    if header.compression and len(records) - at > rules.max_unpacked_record_bytes:
        check_record_sizes(records, at, count, rules.max_unpacked_record_bytes)
    highest_delta = walk_records(records, at, count, rules.key_required)
    limits = RecordRules(rules.key_required)
    if now_ms is not None and not rules.log_append_time:
        earliest_ms, latest_ms = now_ms - rules.timestamp_before_max_ms, now_ms + rules.timestamp_after_max_ms
        limits = RecordRules(rules.key_required, earliest_ms, latest_ms)
    # The deltas are between the highest delta and its negative.
    if highest_delta != NEEDS_FULL_CHECK and limits.allow_all(base - highest_delta, base + highest_delta):
        highest = max(base + highest_delta, NO_TIMESTAMP)
    else:
        highest = check_records_one_by_one(records, at, count, base, limits)
    unchanged = header.max_timestamp == highest or rules.log_append_time
    return header if unchanged else header._replace(max_timestamp=highest)
