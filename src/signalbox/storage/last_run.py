"""What the last run of a log directory has left about its logs: the clean-shutdown marker and the checkpoints.

Where a log may have gaps (`validation/batch_order.py`) is known from two checkpoints. Kafka's
`cleaner-offset-checkpoint`: compaction has processed the log below this offset. `gap-offset-checkpoint`, of Signalbox:
the last gap in the records that this log received from a leader, which may have compacted its log. A directory without
the second one was last used by Apache Kafka or by an older version, which store no such offset: there a log with
`cleanup.policy=compact` may have gaps up to its high watermark, since only committed records are compacted.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.common.ids import TopicPartition
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.files.file_names import (
    CLEANER_OFFSET_FILE,
    GAP_OFFSET_FILE,
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
)
from signalbox.storage.log_config import LogConfig
from signalbox.storage.validation.batch_order import GAPS_ANYWHERE


@dataclass(frozen=True, slots=True)
class LastRun:
    """The checkpoints' values for a log. The defaults are for a folder without any checkpoint."""

    clean: bool = False
    recovery_point: int = 0
    log_start_offset: int = 0
    compacted_to: int = 0
    gaps_to: int = 0


class LastRuns:
    """The checkpoints of one log directory, as they are when the broker starts. `clean`: the shutdown was clean."""

    def __init__(self, directory: LogDirectory, clean: bool) -> None:
        self._clean = clean
        self._recovery_points = directory.read_checkpoint(RECOVERY_POINT_FILE)
        self._start_offsets = directory.read_checkpoint(LOG_START_OFFSET_FILE)
        self._compacted_to = directory.read_checkpoint(CLEANER_OFFSET_FILE)
        self._gaps_to = directory.read_checkpoint(GAP_OFFSET_FILE)
        # A corrupt file counts as absent.
        self.gaps_are_known = directory.has_read_checkpoint(GAP_OFFSET_FILE)
        self.high_watermarks = directory.read_checkpoint(HIGH_WATERMARK_FILE)

    @property
    def partitions(self) -> set[TopicPartition]:
        """The partitions whose logs were in the directory."""
        return {*self._recovery_points, *self.high_watermarks}

    def of(self, topic_partition: TopicPartition, config: LogConfig) -> LastRun:
        """The values for one log."""
        gaps_to = self._gaps_to.get(topic_partition, 0)
        if not self.gaps_are_known and config.compacts:
            gaps_to = self.high_watermarks.get(topic_partition, GAPS_ANYWHERE)
        return LastRun(
            self._clean,
            self._recovery_points.get(topic_partition, 0),
            self._start_offsets.get(topic_partition, 0),
            self._compacted_to.get(topic_partition, 0),
            gaps_to,
        )
