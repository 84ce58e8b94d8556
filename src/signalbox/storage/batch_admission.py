"""The careful way into a log: what `AppendQueue`'s one-glance check did not pass comes here.

The rules themselves stand in `protocol/records/validate`; this adds what follows from the topic's configs:
keys on compacted topics, the broker's clock on LogAppendTime topics, the topic's own compression.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from signalbox.common.limits import (
    APPENDED_UNPACKED_TIMES,
    MAX_DECOMPRESSED_BATCH_BYTES,
    MIN_APPENDED_UNPACKED_BYTES,
)
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    BatchHeader,
    patch_log_append_time,
    read_batch_header,
    write_batch_header,
)
from signalbox.protocol.records.compression import CODES, UnpacksTooLarge, compress, compression_name, decompress
from signalbox.protocol.records.record_lengths import SMALLEST_RECORD_BYTES, unpacked_agrees
from signalbox.protocol.records.validate import BatchRules, inspect_records, validate_batches
from signalbox.storage.file_system import Buffer
from signalbox.storage.log_config import LogConfig

_KAFKA_UNCOMPRESSED = "uncompressed"
_OF_COORDINATORS: dict[str, Any] = {
    "control_allowed": True,
    "transactional_allowed": True,
    "key_required": False,
    "max_message_bytes": 2**31 - 1,
    "max_unpacked_bytes": MAX_DECOMPRESSED_BATCH_BYTES,
}


def batch_rules(config: LogConfig) -> BatchRules:
    """What a topic with `config` takes."""
    unpacked_bytes = max(MIN_APPENDED_UNPACKED_BYTES, APPENDED_UNPACKED_TIMES * config.max_message_bytes)
    return BatchRules(
        max_message_bytes=config.max_message_bytes,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        log_append_time=config.log_append_time,
        key_required="compact" in config.cleanup_policy,
        max_unpacked_bytes=min(unpacked_bytes, MAX_DECOMPRESSED_BATCH_BYTES),
    )


def needs_care(config: LogConfig) -> bool:
    """Whether every batch of a topic has to be looked into or rewritten."""
    return config.log_append_time or "compact" in config.cleanup_policy or config.compression_type != "producer"


def admit_batch(
    batch: Buffer, config: LogConfig, rules: BatchRules, now_ms: int, from_client: bool
) -> tuple[Buffer, BatchHeader, int]:
    """The batch to store, its header, and the append time (-1: producers' clocks count). KafkaError: refused.

    The batch given is not changed; what has to be rewritten is a copy.
    """
    if not from_client:
        rules = replace(rules, **_OF_COORDINATORS)
    header = validate_batches(batch, rules, now_ms=now_ms)[0]
    wanted = "none" if config.compression_type == _KAFKA_UNCOMPRESSED else config.compression_type
    try:
        if rules.key_required:
            _check_reading(header, rules)
            inspect_records(batch, header, rules)
        if wanted != "producer" and wanted != compression_name(header.compression) and not header.is_control:
            batch = _recompressed(batch, header, wanted, rules)
            header = read_batch_header(batch)
    except UnpacksTooLarge as large:
        raise KafkaError(Error.MESSAGE_TOO_LARGE, f"{large.message}, the most this topic unpacks of a batch") from None
    if not rules.log_append_time:
        return batch, header, -1
    batch = bytearray(batch)
    patch_log_append_time(batch, header, now_ms)
    return batch, read_batch_header(batch), now_ms


def _check_reading(header: BatchHeader, rules: BatchRules) -> None:
    """Records are read one by one: no more of them than an uncompressed batch could bring."""
    most = rules.max_message_bytes // SMALLEST_RECORD_BYTES
    if header.record_count > most:
        text = f"a batch of {header.record_count} records: {most} are allowed where each must have a key"
        raise KafkaError(Error.MESSAGE_TOO_LARGE, text)


def _recompressed(batch: Buffer, header: BatchHeader, compression: str, rules: BatchRules) -> bytes:
    """The same records, packed otherwise. They are not read one by one: a batch that unpacks to millions would hold
    the broker up for seconds."""
    packed = memoryview(batch)[HEADER_SIZE:]
    records = decompress(compression_name(header.compression), packed, rules.max_unpacked_bytes)
    if not unpacked_agrees(records, header.record_count, 0):
        raise KafkaError(Error.INVALID_RECORD, f"the batch does not hold {header.record_count} records")
    attributes = header.attributes & ~COMPRESSION_MASK | CODES[compression]
    made = write_batch_header(header._replace(attributes=attributes), compress(compression, records))
    if len(made) > rules.max_message_bytes:
        raise KafkaError(
            Error.MESSAGE_TOO_LARGE,
            f"a batch of {len(made)} bytes with compression.type={compression}: {rules.max_message_bytes} are allowed",
        )
    return made
