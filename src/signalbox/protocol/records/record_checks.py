"""A leader's checks of the records of a batch.

The records are as many as the header counts, well-formed, with keys where the topic is compacted and with timestamps in
range, as Kafka's LogValidator checks, and numbered without a gap, which Kafka does not check. Compressed batches above
1 KiB are not decompressed for it; their timestamps are checked by their header.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.limits import MAX_DECOMPRESSED_BATCH_BYTES
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE, BatchHeader
from signalbox.protocol.records.compression import NAMES, UnpacksTooLarge, decompress
from signalbox.protocol.records.record_errors import NO_TIMESTAMP, RecordRules, check_records_one_by_one
from signalbox.protocol.records.record_walk import NEEDS_FULL_CHECK, walk_records

NO_TIMESTAMP_LIMIT_MS = 9223372036854775807
COUNTED_COMPRESSED_BYTES = 1_024  # stored bytes of a batch that is decompressed for a check: 20 us at most, for zstd
COUNTED_UNPACKED_BYTES = 1_048_576  # larger contents are not checked: a zip bomb must not cost more than an append
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


def check_readable_records(
    batch: bytes | bytearray | memoryview, header: BatchHeader, rules: BatchRules, now_ms: int | None
) -> BatchHeader:
    """`check_records` of one complete batch, if it is uncompressed or small; for others, the checks that need no
    decompression. `LogAppends._passes_fast_validation` makes the same checks on batches that are not decompressed.
    Yields."""
    if not header.compression:
        return check_records(batch, HEADER_SIZE, header, rules, now_ms)
    if len(batch) <= COUNTED_COMPRESSED_BYTES:
        limit_bytes = min(COUNTED_UNPACKED_BYTES, rules.max_unpacked_bytes)
        try:
            unpacked = decompress(NAMES[header.compression], memoryview(batch)[HEADER_SIZE:], limit_bytes)
        except UnpacksTooLarge:
            pass
        else:
            return check_records(unpacked, 0, header, rules, now_ms)
    if header.record_count * SMALLEST_RECORD_BYTES > rules.max_unpacked_bytes:
        raise KafkaError(Error.INVALID_RECORD, f"the batch cannot hold {header.record_count} records")
    if now_ms is not None and not rules.log_append_time:
        _check_timestamps(header, rules, now_ms)
    return header


def check_records(
    records: bytes | bytearray | memoryview, at: int, header: BatchHeader, rules: BatchRules, now_ms: int | None
) -> BatchHeader:
    """Returns the header of a batch whose uncompressed records begin at `at`, with their highest timestamp. Yields."""
    base, count = header.base_timestamp, header.record_count
    if count * SMALLEST_RECORD_BYTES > len(records) - at:
        raise KafkaError(Error.INVALID_RECORD, f"the batch does not hold {count} records")
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


def _check_timestamps(header: BatchHeader, rules: BatchRules, now_ms: int) -> None:
    if header.max_timestamp - now_ms > rules.timestamp_after_max_ms:
        raise KafkaError(
            Error.INVALID_TIMESTAMP,
            f"timestamp {header.max_timestamp} is more than {rules.timestamp_after_max_ms} ms ahead of the broker",
        )
    if header.base_timestamp >= 0 and now_ms - header.base_timestamp > rules.timestamp_before_max_ms:
        raise KafkaError(
            Error.INVALID_TIMESTAMP,
            f"timestamp {header.base_timestamp} is more than {rules.timestamp_before_max_ms} ms behind the broker",
        )
