"""The careful way into a log: what `AppendQueue`'s one-glance check did not pass comes here.

The rules themselves stand in `protocol/records/validate`; this adds what follows from the topic's configs:
keys on compacted topics, the broker's clock on LogAppendTime topics, the topic's own compression.
"""

from __future__ import annotations

from dataclasses import replace

from signalbox.protocol.records.batch_header import (
    BatchHeader,
    patch_log_append_time,
    read_batch_header,
)
from signalbox.protocol.records.compression import compression_name
from signalbox.protocol.records.record_batch import encode_batch, records_of
from signalbox.protocol.records.validate import BatchRules, inspect_records, validate_batches
from signalbox.storage.file_system import Buffer
from signalbox.storage.log_config import LogConfig

_KAFKA_UNCOMPRESSED = "uncompressed"


def batch_rules(config: LogConfig) -> BatchRules:
    """What a topic with `config` takes."""
    return BatchRules(
        max_message_bytes=config.max_message_bytes,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        log_append_time=config.log_append_time,
        key_required="compact" in config.cleanup_policy,
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
        rules = replace(rules, control_allowed=True, key_required=False, max_message_bytes=2**31 - 1)
    header = validate_batches(batch, rules, now_ms=now_ms)[0]
    if rules.key_required:
        inspect_records(batch, header, rules)
    wanted = "none" if config.compression_type == _KAFKA_UNCOMPRESSED else config.compression_type
    if wanted != "producer" and wanted != compression_name(header.compression) and not header.is_control:
        batch = _recompressed(batch, header, wanted)
        header = read_batch_header(batch)
    if not rules.log_append_time:
        return batch, header, -1
    batch = bytearray(batch)
    patch_log_append_time(batch, header, now_ms)
    return batch, read_batch_header(batch), now_ms


def _recompressed(batch: Buffer, header: BatchHeader, compression: str) -> bytes:
    return encode_batch(
        records_of(memoryview(batch), header),
        base_offset=header.base_offset,
        compression=compression,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
    )
