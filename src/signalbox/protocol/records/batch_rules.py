"""The rules of a topic for the batches that are appended to it."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.limits import MAX_DECOMPRESSED_BATCH_BYTES

NO_TIMESTAMP_LIMIT_MS = 9223372036854775807
COUNTED_COMPRESSED_BYTES = 1_024  # stored bytes of a batch that is decompressed for a check: 20 us at most, for zstd
COUNTED_UNPACKED_BYTES = 1_048_576  # larger contents are not checked: a zip bomb must not cost more than an append
SMALLEST_RECORD_BYTES = 7  # length, attributes, two deltas, two lengths and a count of headers, a byte each


@dataclass(frozen=True, slots=True)
class BatchRules:
    """The rules of a topic. Timestamp limits are distances from `now_ms`, checked on CreateTime only."""

    max_message_bytes: int = 1048588
    timestamp_before_max_ms: int = NO_TIMESTAMP_LIMIT_MS
    timestamp_after_max_ms: int = 3600000
    log_append_time: bool = False
    key_required: bool = False
    control_allowed: bool = False
    transactional_allowed: bool = False
    max_unpacked_bytes: int = MAX_DECOMPRESSED_BATCH_BYTES
