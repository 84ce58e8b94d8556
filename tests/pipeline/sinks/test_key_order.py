"""The order of two records of a key, in SQL and in Python."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.sinks.key_order import IS_NEWER, RecordPosition, is_newer, newest_rows

pytestmark = pytest.mark.spec("P8")
POSITIONS = [RecordPosition(*position) for position in itertools.product((0, 1), (3, 4), (10, 20))]


def test_within_a_partition_the_offset_decides_else_the_timestamp() -> None:
    assert is_newer(RecordPosition(0, 4, 10), RecordPosition(0, 3, 20))
    assert is_newer(RecordPosition(1, 3, 20), RecordPosition(0, 4, 10))
    assert not is_newer(RecordPosition(0, 4, 10), RecordPosition(1, 3, 20))
    assert is_newer(RecordPosition(0, 4, 10), RecordPosition(1, 3, 10))


def test_one_of_two_records_is_newer_and_sql_agrees(spark: SparkSession) -> None:
    pairs = list(itertools.product(POSITIONS, POSITIONS))
    frame = spark.createDataFrame(
        [(s._asdict(), t._asdict()) for s, t in pairs],
        "s STRUCT<partition INT, offset BIGINT, timestamp_us BIGINT>, "
        "t STRUCT<partition INT, offset BIGINT, timestamp_us BIGINT>",
    )
    condition = IS_NEWER.replace("timestamp", "timestamp_us")
    by_sql = [row.newer for row in frame.selectExpr(f"{condition} AS newer").collect()]
    assert by_sql == [is_newer(s, t) for s, t in pairs]
    for s, t in pairs:
        same = (s.partition, s.offset) == (t.partition, t.offset)
        assert is_newer(s, t) + is_newer(t, s) == (0 if same else 1)


def test_the_newest_row_of_each_key(spark: SparkSession) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        (key, partition, offset, begin + timedelta(seconds=second))
        for key, partition, offset, second in (("a", 0, 1, 9), ("a", 0, 2, 5), ("a", 1, 7, 6), ("b", 0, 3, 1))
    ]
    frame = spark.createDataFrame(rows, "key STRING, partition INT, offset BIGINT, timestamp TIMESTAMP")
    newest = newest_rows(frame).select("key", "partition", "offset").collect()
    assert sorted(tuple(row) for row in newest) == [("a", 1, 7), ("b", 0, 3)]
