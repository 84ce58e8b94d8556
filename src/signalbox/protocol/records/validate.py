"""A leader's checks of the batches of a producer before it appends them.

The header's form, checksum, counts that agree, size, compression, and that a producer does not send what only a
coordinator may; then the records (`record_checks`). Errors are Kafka's: CORRUPT_MESSAGE (retriable: the bytes may have
been corrupted on the network), INVALID_RECORD (message formats 0 and 1, too), MESSAGE_TOO_LARGE, INVALID_TIMESTAMP,
TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
"""

from __future__ import annotations

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
from signalbox.protocol.records.record_checks import BatchRules

_ZSTD = CODES["zstd"]
_MAGIC_AT = 16


def check_batches(
    buffer: bytes | bytearray | memoryview, rules: BatchRules, *, now_ms: int | None, one_batch_only: bool = True
) -> list[BatchHeader]:
    """The headers of the valid batches; their records are not checked. Raises KafkaError with the code of the first
    fault.

    `one_batch_only`: a produce request of message format 2 has exactly one batch per partition. Without `now_ms`
    timestamps are not checked.
    """
    headers = _headers(buffer)
    if one_batch_only and len(headers) != 1:
        raise KafkaError(Error.INVALID_RECORD, f"{len(headers)} batches where exactly one is allowed")
    for header in headers:
        if not _is_ordinary(header, rules):
            _check_header(header, rules)
        if not check_crc(buffer, header):
            raise KafkaError(Error.CORRUPT_MESSAGE, "the batch's checksum is wrong")
        if now_ms is not None and not rules.log_append_time and header.is_log_append_time:
            raise KafkaError(Error.INVALID_TIMESTAMP, "the timestamp type LogAppendTime is reserved for the broker")
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
    """Most batches: plain attributes, counts that agree, no producer id. One test instead of ten."""
    return (
        0 <= header.attributes <= _ZSTD
        and 0 < header.record_count == header.last_offset_delta + 1
        and header.producer_id < 0
        and header.batch_length + LOG_OVERHEAD <= rules.max_message_bytes
    )


def _check_header(header: BatchHeader, rules: BatchRules) -> None:
    if header.size_bytes > rules.max_message_bytes:
        raise KafkaError(
            Error.MESSAGE_TOO_LARGE,
            f"a batch of {header.size_bytes} bytes exceeds the limit of {rules.max_message_bytes}",
        )
    if header.record_count <= 0:
        raise KafkaError(Error.INVALID_RECORD, f"invalid record count {header.record_count}")
    if header.last_offset_delta != header.record_count - 1:
        raise KafkaError(
            Error.INVALID_RECORD,
            f"last offset delta {header.last_offset_delta} in a batch of {header.record_count} records",
        )
    if header.compression >= len(NAMES):
        raise KafkaError(Error.CORRUPT_MESSAGE, f"unknown compression type id {header.compression}")
    if header.is_control and not rules.control_allowed:
        raise KafkaError(Error.INVALID_RECORD, "clients may not write control records")
    lacks_sequence = header.base_sequence < 0 and not rules.control_allowed  # a coordinator's records have none
    if header.has_producer_id and (header.producer_epoch < 0 or lacks_sequence) and not header.is_control:
        raise KafkaError(
            Error.INVALID_RECORD,
            f"producer {header.producer_id} with epoch {header.producer_epoch}, sequence {header.base_sequence}",
        )
    if header.is_transactional and not header.has_producer_id:
        # With a transactional id its coordinator has rejected the batch before: the request has none.
        raise KafkaError(Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transactional batch without a producer id")
