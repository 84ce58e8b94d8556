"""What a leader checks before it appends what a producer sent.

Header by header: form, checksum, counts that agree (in small batches with the records too), sizes, timestamps,
compression, and that a producer does not send what only a coordinator may. Errors are Kafka's: CORRUPT_MESSAGE
(retriable: the bytes may have been hurt on the way), INVALID_RECORD (message formats 0 and 1, too), MESSAGE_TOO_LARGE,
INVALID_TIMESTAMP, TRANSACTIONAL_ID_AUTHORIZATION_FAILED. `inspect_records` reads every record.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.limits import MAX_DECOMPRESSED_BATCH_BYTES
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    LOG_OVERHEAD,
    MAGIC,
    BatchHeader,
    check_crc,
    iter_batch_headers,
    read_batch_header,
)
from signalbox.protocol.records.compression import CODES, NAMES
from signalbox.protocol.records.record_batch import records_of
from signalbox.protocol.records.record_lengths import count_agrees

_ZSTD = CODES["zstd"]
_MAGIC_AT = 16
NO_TIMESTAMP_LIMIT_MS = 9223372036854775807


@dataclass(frozen=True, slots=True)
class BatchRules:
    """What a topic allows. Timestamp limits are distances from `now_ms`, checked on CreateTime only."""

    max_message_bytes: int = 1048588
    timestamp_before_max_ms: int = NO_TIMESTAMP_LIMIT_MS
    timestamp_after_max_ms: int = 3600000
    log_append_time: bool = False
    key_required: bool = False
    control_allowed: bool = False
    transactional_allowed: bool = False
    max_unpacked_bytes: int = MAX_DECOMPRESSED_BATCH_BYTES


DEFAULT_RULES = BatchRules()


def validate_batches(
    buffer: bytes | bytearray | memoryview,
    rules: BatchRules = DEFAULT_RULES,
    *,
    now_ms: int | None = None,
    one_batch_only: bool = True,
) -> list[BatchHeader]:
    """The headers of what may be appended. Raises KafkaError with the code for the first fault.

    `one_batch_only`: a produce request of message format 2 holds exactly one batch per partition.
    Without `now_ms` timestamps are not checked.
    """
    headers = _headers(buffer)
    if one_batch_only and len(headers) != 1:
        raise KafkaError(Error.INVALID_RECORD, f"{len(headers)} batches where exactly one is allowed")
    for header in headers:
        if not _is_ordinary(header, rules):
            _check_header(header, rules)
        if not check_crc(buffer, header):
            raise KafkaError(Error.CORRUPT_MESSAGE, "the batch's checksum is wrong")
        batch = memoryview(buffer)[header.position : header.position + header.size_bytes]
        if not count_agrees(batch, header.compression, header.record_count, rules.max_unpacked_bytes):
            raise KafkaError(Error.INVALID_RECORD, f"the batch does not hold {header.record_count} records")
        if now_ms is not None and not rules.log_append_time:
            _check_timestamps(header, rules, now_ms)
    return headers


def _headers(buffer: bytes | bytearray | memoryview) -> list[BatchHeader]:
    """One batch that fills the buffer is the usual case and needs no iteration."""
    if len(buffer) > _MAGIC_AT and buffer[_MAGIC_AT] < MAGIC:
        raise KafkaError(Error.INVALID_RECORD, f"message format {buffer[_MAGIC_AT]}: format 2 is needed")
    if len(buffer):
        first = read_batch_header(buffer)
        if first.batch_length + LOG_OVERHEAD == len(buffer):
            return [first]
    return list(iter_batch_headers(buffer))


def _is_ordinary(header: BatchHeader, rules: BatchRules) -> bool:
    """Most batches: plain attributes, counts that agree, no producer id. One test in place of ten."""
    return (
        0 <= header.attributes <= _ZSTD
        and 0 < header.record_count == header.last_offset_delta + 1
        and header.producer_id < 0
        and header.batch_length + LOG_OVERHEAD <= rules.max_message_bytes
    )


def _check_header(header: BatchHeader, rules: BatchRules) -> None:
    if header.is_transactional and not rules.transactional_allowed:
        raise KafkaError(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactions are not supported")
    if header.size_bytes > rules.max_message_bytes:
        raise KafkaError(
            Error.MESSAGE_TOO_LARGE, f"a batch of {header.size_bytes} bytes: {rules.max_message_bytes} are allowed"
        )
    if header.record_count <= 0:
        raise KafkaError(Error.INVALID_RECORD, f"a batch that counts {header.record_count} records")
    if header.last_offset_delta != header.record_count - 1:
        raise KafkaError(
            Error.INVALID_RECORD,
            f"last offset delta {header.last_offset_delta} in a batch of {header.record_count} records",
        )
    if header.compression >= len(NAMES):
        raise KafkaError(Error.CORRUPT_MESSAGE, f"compression {header.compression} does not exist")
    if header.is_control and not rules.control_allowed:
        raise KafkaError(Error.INVALID_RECORD, "clients may not write control records")
    if header.has_producer_id and (header.producer_epoch < 0 or header.base_sequence < 0) and not header.is_control:
        raise KafkaError(
            Error.INVALID_RECORD,
            f"producer {header.producer_id} with epoch {header.producer_epoch}, sequence {header.base_sequence}",
        )
    if header.is_transactional and not header.has_producer_id:
        raise KafkaError(Error.INVALID_RECORD, "a transactional batch without a producer id")


def _check_timestamps(header: BatchHeader, rules: BatchRules, now_ms: int) -> None:
    if header.is_log_append_time:
        raise KafkaError(Error.INVALID_TIMESTAMP, "producers may not set the broker's own time")
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


def inspect_records(buffer: bytes | bytearray | memoryview, header: BatchHeader, rules: BatchRules) -> None:
    """Read every record of a batch: they must be as many as the header counts, numbered without a gap, and
    have keys where the topic is compacted. Raises KafkaError.
    """
    for expected, record in enumerate(records_of(memoryview(buffer), header, rules.max_unpacked_bytes)):
        if record.offset != header.base_offset + expected:
            raise KafkaError(Error.INVALID_RECORD, f"record {expected} is numbered {record.offset}")
        if rules.key_required and record.key is None:
            raise KafkaError(Error.INVALID_RECORD, f"record {expected} has no key: a compacted topic needs one")
