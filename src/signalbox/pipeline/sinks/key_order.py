"""Which of two records of a key is the newer one: in SQL of a merge, in Spark and in Python, all three the same.

Of one partition the higher offset is newer, as for Kafka's own compaction. A key has records in two partitions if the
topic got more partitions; then the later timestamp is newer, of equal ones the higher offset. The order in which the
pipeline reads two partitions says nothing: it reads the rest of the old one after the beginning of the new one.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

# `s` is a record of the batch, `t` a row of the table.
IS_NEWER = """CASE WHEN s.partition = t.partition THEN s.offset > t.offset
 WHEN s.timestamp <> t.timestamp THEN s.timestamp > t.timestamp
 WHEN s.offset <> t.offset THEN s.offset > t.offset
 ELSE s.partition > t.partition END"""


class RecordPosition(NamedTuple):
    """The position of a record, and its timestamp in microseconds."""

    partition: int
    offset: int
    timestamp_us: int


def is_newer(record: RecordPosition, other: RecordPosition) -> bool:
    """True if the record is newer than the other record of its key."""
    if record.partition == other.partition:
        return record.offset > other.offset
    return (record.timestamp_us, record.offset, record.partition) > (
        other.timestamp_us,
        other.offset,
        other.partition,
    )


def positions_of(rows: pa.Table) -> dict[bytes, RecordPosition]:
    """The positions of rows by key; one row per key."""
    timestamps = rows.column("timestamp").cast(pa.int64())
    columns = (rows.column("key"), rows.column("partition"), rows.column("offset"), timestamps)
    return {
        key: RecordPosition(partition, offset, timestamp_us)
        for key, partition, offset, timestamp_us in zip(*(column.to_pylist() for column in columns), strict=True)
    }


def newest_rows(frame: DataFrame) -> DataFrame:
    """The newest row of each key."""
    row = F.struct(*frame.columns)
    by_partition = frame.groupBy("key", "partition").agg(F.max_by(row, "offset").alias("row"))
    order = F.struct("row.timestamp", "row.offset", "row.partition")
    newest = by_partition.groupBy("key").agg(F.max_by("row", order).alias("row"))
    return newest.select("row.*")
