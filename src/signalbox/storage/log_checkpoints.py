"""The checkpoints of a log directory, written from its logs; `last_run.py` reads them at the next start."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from signalbox.common.cooperative_task import no_yield, yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.files.file_names import (
    CLEANER_OFFSET_FILE,
    GAP_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
)
from signalbox.storage.log import Log

Write = Callable[[str, Mapping[TopicPartition, int]], None]
"""One of a log directory's `write_checkpoint` and `write_checkpoint_later`."""


def write_log_checkpoints(write: Write, logs: Sequence[Log]) -> None:
    """Saves the offsets of a directory's `logs` but gaps and the cleaner's. Yields. KafkaError
    (KAFKA_STORAGE_ERROR)."""
    write(RECOVERY_POINT_FILE, _offsets(logs, lambda log: log.body.recovery_point))
    trimmed = [log for log in logs if log.body.starts_inside_segment()]
    write(LOG_START_OFFSET_FILE, _offsets(trimmed, lambda log: log.log_start_offset))
    write_high_watermarks(write, logs)


def write_cleaner_offsets(write: Write, logs: Sequence[Log]) -> None:
    """Saves how far logs are compacted. Yields. KafkaError (KAFKA_STORAGE_ERROR)."""
    compacted = [log for log in logs if log.body.compacted_to]  # by Apache Kafka; the value moves with the log
    write(CLEANER_OFFSET_FILE, _offsets(compacted, lambda log: log.body.compacted_to))


def write_high_watermarks(write: Write, logs: Sequence[Log]) -> None:
    """Saves the high watermarks only. Yields. KafkaError (KAFKA_STORAGE_ERROR)."""
    write(HIGH_WATERMARK_FILE, _offsets(logs, lambda log: log.high_watermark))


def write_gaps(directory: LogDirectory, logs: Sequence[Log], sync: bool) -> None:
    """Saves the gaps of all logs that are in the directory now. Does not yield: a log may store a later gap at any
    time, and an earlier one must not replace it. KafkaError (KAFKA_STORAGE_ERROR)."""
    with no_yield():
        gapped = [log for log in logs if log.body.gaps_to]
        directory.write_checkpoint(GAP_OFFSET_FILE, _offsets(gapped, lambda log: log.body.gaps_to), sync)


def _offsets(logs: Sequence[Log], read: Callable[[Log], int]) -> dict[TopicPartition, int]:
    """The values of a checkpoint, which may have thousands of logs. Yields."""
    offsets = {}
    for log in logs:
        offsets[log.topic_partition] = read(log)
        yield_if_due()
    return offsets
