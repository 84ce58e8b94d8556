"""Late rows of a batch: those whose event time is before the batch's watermark. They are rejected, complete.

A row without an event time is never late, as in Spark. A row at the watermark is not late; in Spark it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.tables.projection import LATE, RecordShape, table_columns

_EVENT_TIME = "_event_time_us"
_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"  # the session's time zone is UTC


@dataclass(frozen=True, slots=True)
class ParsedCounts:
    """Counts of a parsed batch: all records, rejected ones, late ones among them; and the range of the event times of
    its good rows in microseconds, None = no row has one."""

    records: int
    dead: int
    late: int = 0
    least_us: int | None = None
    greatest_us: int | None = None


def _text(time: Column) -> Column:
    return F.date_format(time, _FORMAT)


def with_event_times(frame: DataFrame, shape: RecordShape, rule: EventTimeRule) -> DataFrame:
    """Parsed records with their event times, for `count_parsed`."""
    return frame.withColumn(_EVENT_TIME, F.unix_micros(table_columns(shape)[rule.column]))


def reject_late(frame: DataFrame, watermark_us: int) -> DataFrame:
    """Records with their event times: those before the watermark are no longer good and have a reason."""
    time = F.timestamp_micros(_EVENT_TIME)
    reason = F.concat(F.lit("late:"), _text(time), F.lit("_before_"), _text(F.timestamp_micros(F.lit(watermark_us))))
    late = frame.withColumn(LATE, F.when(F.col("_good") & (F.col(_EVENT_TIME) < F.lit(watermark_us)), reason))
    return late.withColumn("_good", F.col("_good") & F.col(LATE).isNull())


def count_parsed(frame: DataFrame, *, has_event_times: bool) -> ParsedCounts:
    """Counts the records of a parsed frame, in one pass."""
    counts = [F.count("*"), F.count_if(~F.col("_good"))]
    if has_event_times:
        time = F.when(F.col("_good"), F.col(_EVENT_TIME))
        counts += [F.count_if(F.col(LATE).isNotNull()), F.min(time), F.max(time)]
    return ParsedCounts(*frame.agg(*counts).collect()[0])
