"""The rule of a table applied to its batches: late rows are rejected, repeated ones dropped, the watermark advances.

A row is compared with rows of the table whose event time is not older than the watermark less the delay: of equal rows
whose event times differ by at most the delay only one becomes a row of the table. A replay and a backfill admit rows
whatever their event time, since they were asked for: they compare with the rows that are at most the delay apart from
the range of theirs, and do not move the watermark. A batch without a watermark compares with the same rows: those of a
backfill or a replay can be in the table before the first batch of the stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame

from signalbox.pipeline.event_time.late_rows import ParsedCounts, count_parsed, reject_late, with_event_times
from signalbox.pipeline.event_time.recent_files import TimeRange
from signalbox.pipeline.event_time.repeated_rows import recent_rows, without_repeated
from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.event_time.watermark import BatchTimes, end_batch, times_of_batch, write_times
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.sinks.delta_log import partition_columns
from signalbox.pipeline.tables.projection import RecordShape


class EventTimeGate:
    """The rule of one table in one run; `rule` None = the table has none, and every row passes.

    `folder`: where the watermark is stored; None = rows are admitted whatever their event time.
    """

    def __init__(self, rule: EventTimeRule | None, folder: Path | None) -> None:
        self._rule = rule
        self._folder = folder
        self._times: BatchTimes | None = None
        self._range: TimeRange | None = None

    def begin(self, frame: DataFrame, shape: RecordShape, batch_id: int) -> DataFrame:
        """The parsed records of a batch, those that are late rejected. Raises StateError if the stored watermark does
        not belong to the checkpoint."""
        if self._rule is None:
            return frame
        frame = with_event_times(frame, shape, self._rule)
        self._times = None
        if self._folder is not None:
            self._times = times_of_batch(self._folder, batch_id, self._rule.delay_us)
            if self._times.watermark_us is not None:
                frame = reject_late(frame, self._times.watermark_us)
        return frame

    def count(self, frame: DataFrame) -> ParsedCounts:
        """Counts the records of `begin` and stores the watermark, before anything of the batch is committed."""
        counts = count_parsed(frame, has_event_times=self._rule is not None)
        if self._rule is None:
            return counts
        delay_us = self._rule.delay_us
        self._range = None
        if self._times is not None and self._times.watermark_us is not None:
            self._range = TimeRange(self._times.watermark_us - delay_us)
        elif counts.least_us is not None and counts.greatest_us is not None:
            self._range = TimeRange(counts.least_us - delay_us, counts.greatest_us + delay_us)
        if self._times is not None:
            assert self._folder is not None
            self._times = end_batch(self._times, counts.greatest_us)
            write_times(self._folder, self._times)
        return counts

    def commit_metadata(self) -> Mapping[str, int | None]:
        """The watermark of the batch and the greatest event time so far, for the commits of its tables."""
        return self._times.commit_metadata() if self._times is not None else {}

    def unique(self, rows: DataFrame, table: TableLocation) -> DataFrame:
        """The rows of the batch without those that repeat an earlier row of the table or of the batch."""
        if self._rule is None or not self._rule.deduplicate:
            return rows
        recent = recent_rows(rows, table, self._rule, self._range) if self._range is not None else None
        return without_repeated(rows, recent, self._rule.deduplicate, partition_columns(table) or ())
