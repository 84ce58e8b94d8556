"""The full validation of a batch, for all batches that do not pass the fast one (`LogAppends._passes_fast_validation`).

The general rules are in `protocol/records`. This module adds what follows from the topic's configs: keys on compacted
topics, the broker's clock on LogAppendTime topics, the topic's own compression. As in Kafka every record of a client is
read, so a compressed batch is decompressed. If it has more than 64 KiB then, it is not admitted in one step: the codecs
run in a thread, and the records are checked in the loop.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

from signalbox.common.limits import (
    APPENDED_UNPACKED_TIMES,
    MAX_DECOMPRESSED_BATCH_BYTES,
    MIN_APPENDED_UNPACKED_BYTES,
    UNPACKED_AT_ONCE_BYTES,
)
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    BatchHeader,
    patch_log_append_time,
    patch_max_timestamp,
    read_batch_header,
    write_batch_header,
)
from signalbox.protocol.records.compression import (
    CODES,
    Unpacked,
    UnpacksTooLarge,
    compress,
    compression_name,
    unpack,
)
from signalbox.protocol.records.record_checks import (
    SMALLEST_RECORD_BYTES,
    BatchRules,
    check_records,
)
from signalbox.protocol.records.validate import check_batches
from signalbox.storage.files.file_system import Buffer
from signalbox.storage.log_config import LogConfig
from signalbox.storage.unpacking_steps import UnpackingSteps, Work, decompress_at_once

_KAFKA_UNCOMPRESSED = "uncompressed"
_STORED_BYTES_PER_RECORD = 2  # of a full compressed batch, at least; seven is the least without compression
_COORDINATOR_RULES: dict[str, Any] = {
    "control_allowed": True,
    "key_required": False,
    "max_message_bytes": 2**31 - 1,
    "max_unpacked_bytes": MAX_DECOMPRESSED_BATCH_BYTES,
    "reads_compressed": False,
}


Admitted = tuple[Buffer, tuple[int, ...], int]  # the batch to store, its header, the append time or -1
Admission = Generator[Work, Any, Admitted]


def batch_rules(config: LogConfig) -> BatchRules:
    """The rules for batches of a topic with `config`."""
    unpacked_bytes = max(MIN_APPENDED_UNPACKED_BYTES, APPENDED_UNPACKED_TIMES * config.max_message_bytes)
    return BatchRules(
        max_message_bytes=config.max_message_bytes,
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        log_append_time=config.log_append_time,
        key_required="compact" in config.cleanup_policy,
        max_unpacked_bytes=min(unpacked_bytes, MAX_DECOMPRESSED_BATCH_BYTES),
        max_unpacked_record_bytes=config.max_decompressed_message_bytes,
    )


def needs_full_validation(config: LogConfig) -> bool:
    """Whether every batch of the topic needs the full validation, compressed or not."""
    return config.log_append_time or "compact" in config.cleanup_policy or config.compression_type != "producer"


class AdmissionSteps(UnpackingSteps[Admitted]):
    """An admission that cannot be finished in the loop. KafkaError from `resume`: the batch is rejected."""


def begin_admission(batch: Buffer, config: LogConfig, rules: BatchRules, now_ms: int) -> Admitted | AdmissionSteps:
    """A client's batch: admitted at once, or `AdmissionSteps` if it must be decompressed first. KafkaError: rejected.
    Yields. `batch` is not changed, and not used after this call; a batch that must be rewritten is copied."""
    steps = _admission(batch, config, rules, now_ms)
    try:
        work = next(steps)
    except StopIteration as admitted:
        return admitted.value  # type: ignore[no-any-return]
    return AdmissionSteps(steps, work, rules.max_unpacked_bytes)


def admit_batch(batch: Buffer, config: LogConfig, rules: BatchRules, now_ms: int, from_client: bool) -> Admitted:
    """The same, finished at once. Yields."""
    if not from_client:
        rules = replace(rules, **_COORDINATOR_RULES)
    return finish_admission(begin_admission(batch, config, rules, now_ms))


def finish_admission(admission: Admitted | AdmissionSteps) -> Admitted:
    """Runs all remaining steps of an admission now."""
    return admission.finish() if isinstance(admission, AdmissionSteps) else admission


def _admission(batch: Buffer, config: LogConfig, rules: BatchRules, now_ms: int) -> Admission:
    """A generator: yields work for a thread and receives its result. Yields."""
    header = check_batches(batch, rules, now_ms=now_ms)[0]
    target = "none" if config.compression_type == _KAFKA_UNCOMPRESSED else config.compression_type
    source_compression = compression_name(header.compression)
    recompress = target not in ("producer", source_compression) and not header.is_control
    unpacked: Unpacked | None = None
    records: Buffer = b""
    try:
        if header.compression and not (recompress or rules.reads_compressed):
            checked = header  # of a coordinator
        elif header.compression:
            _check_record_count(header, rules)
            small = decompress_at_once(source_compression, memoryview(batch)[HEADER_SIZE:], rules.max_unpacked_bytes)
            if small is None:
                batch = bytes(batch)
                unpacked = yield partial(unpack, source_compression, batch[HEADER_SIZE:], rules.max_unpacked_bytes)
            records = unpacked.records if unpacked is not None else small or b""
            checked = check_records(records, 0, header, rules, now_ms)
        else:
            records = memoryview(batch)[HEADER_SIZE:]
            checked = check_records(batch, HEADER_SIZE, header, rules, now_ms)
        if recompress:
            recompress_records = partial(_recompressed, records, checked, target, config.compression_level, rules)
            batch = recompress_records() if len(records) <= UNPACKED_AT_ONCE_BYTES else (yield recompress_records)
            checked = read_batch_header(batch)
    except UnpacksTooLarge as too_large:
        raise KafkaError(
            Error.MESSAGE_TOO_LARGE, f"{too_large.message}, the limit of this topic for a decompressed batch"
        ) from None
    except GeneratorExit:
        unpacked = None  # the admission was abandoned
        raise
    finally:
        if unpacked is not None:
            yield unpacked.release  # munmap takes milliseconds, too
    if not recompress and checked.max_timestamp != header.max_timestamp:
        batch = bytearray(batch)
        patch_max_timestamp(batch, header, checked.max_timestamp)
    if not rules.log_append_time:
        return batch, checked, -1
    batch = bytearray(batch)
    patch_log_append_time(batch, checked, now_ms)
    return batch, read_batch_header(batch), now_ms


def _check_record_count(header: BatchHeader, rules: BatchRules) -> None:
    """Records are read one by one: a few bytes must not claim the time for millions of them."""
    if header.record_count * SMALLEST_RECORD_BYTES > rules.max_unpacked_bytes:
        raise KafkaError(Error.INVALID_RECORD, f"the batch cannot hold {header.record_count} records")
    max_records = rules.max_message_bytes // _STORED_BYTES_PER_RECORD
    if header.record_count > max_records:
        text = f"the batch has {header.record_count} records, at most {max_records} are allowed if each must be read"
        raise KafkaError(Error.MESSAGE_TOO_LARGE, text)


def _recompressed(
    records: Buffer, header: BatchHeader, compression: str, level: int | None, rules: BatchRules
) -> bytes:
    """A batch of the same records with another compression."""
    size = len(records) + HEADER_SIZE
    if compression != "none" or size <= rules.max_message_bytes:
        compressed = compress(compression, memoryview(records), level)
        size = len(compressed) + HEADER_SIZE
    if size > rules.max_message_bytes:
        raise KafkaError(
            Error.MESSAGE_TOO_LARGE,
            f"{size} bytes with compression.type={compression}, max.message.bytes is {rules.max_message_bytes}",
        )
    attributes = header.attributes & ~COMPRESSION_MASK | CODES[compression]
    return write_batch_header(header._replace(attributes=attributes), compressed)
