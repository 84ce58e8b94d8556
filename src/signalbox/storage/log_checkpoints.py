"""The checkpoints of a log directory, written from its logs; `last_run.py` reads them at the next start."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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


def write_log_checkpoints(directory: LogDirectory, logs: Sequence[Log], sync: bool = False) -> None:
    """Saves all offsets of the directory's `logs` except gaps. Yields. KafkaError (KAFKA_STORAGE_ERROR)."""
    directory.write_checkpoint(RECOVERY_POINT_FILE, _offsets(logs, lambda log: log.body.recovery_point), sync)
    trimmed = [log for log in logs if log.body.starts_inside_segment()]
    directory.write_checkpoint(LOG_START_OFFSET_FILE, _offsets(trimmed, lambda log: log.log_start_offset), sync)
    write_high_watermarks(directory, logs, sync)
    compacted = [log for log in logs if log.body.compacted_to]  # by Apache Kafka; the value moves with the log
    directory.write_checkpoint(CLEANER_OFFSET_FILE, _offsets(compacted, lambda log: log.body.compacted_to))


def write_high_watermarks(directory: LogDirectory, logs: Sequence[Log], sync: bool = False) -> None:
    """Saves the high watermarks only. Yields. KafkaError (KAFKA_STORAGE_ERROR)."""
    directory.write_checkpoint(HIGH_WATERMARK_FILE, _offsets(logs, lambda log: log.high_watermark), sync)


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
