"""Repeated rows are dropped as a model in plain Python drops them."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from signalbox.pipeline.event_time.recent_files import TimeRange
from signalbox.pipeline.event_time.repeated_rows import recent_rows, without_repeated
from signalbox.pipeline.event_time.rule import EventTimeRule

pytestmark = pytest.mark.spec("P8")
SCHEMA = "partition INT, offset BIGINT, id INT, `the kind` STRING, at TIMESTAMP"
RULE = EventTimeRule("at", 0, ("the kind", "id"))
Row = tuple[int, int, int | None, str | None, datetime | None]


def random_rows(seed: int, count: int) -> list[Row]:
    numbers = random.Random(seed)
    at = [None, *(datetime.fromtimestamp(second, UTC) for second in range(10))]
    return [
        (number % 3, number, numbers.choice([None, *range(8)]), numbers.choice([None, "a", "b"]), numbers.choice(at))
        for number in range(count)
    ]


@pytest.mark.parametrize(("least", "greatest"), [(5, None), (2, 4), (0, None)])
def test_the_first_of_equal_rows_stays_unless_the_table_has_it(
    spark: SparkSession, tmp_path: Path, least: int, greatest: int | None
) -> None:
    stored, new = random_rows(1, 25), random_rows(2, 60)
    write_deltalake(tmp_path, spark.createDataFrame(stored, SCHEMA).toArrow())
    rows = spark.createDataFrame(new, SCHEMA)
    times = TimeRange(least * 1_000_000, None if greatest is None else greatest * 1_000_000)
    seen = {
        row[2:4] for row in stored if row[4] is not None and least <= row[4].timestamp() <= (greatest or float("inf"))
    }
    expected = []
    for row in sorted(new, key=lambda row: row[:2]):
        if row[2:4] not in seen:
            expected.append(row[:2])
        seen.add(row[2:4])
    unique = without_repeated(rows, recent_rows(rows, tmp_path, RULE, times), RULE.deduplicate)
    assert unique.columns == rows.columns
    assert sorted((row["partition"], row["offset"]) for row in unique.collect()) == expected


def test_the_empty_text_of_a_partition_column_is_null_and_nothing_recent_is_none(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.createDataFrame([(0, 0, 1, "", None), (0, 1, 1, None, None)], SCHEMA)
    write_deltalake(tmp_path, rows.limit(0).toArrow())
    assert recent_rows(rows, tmp_path, RULE, TimeRange(0)) is None
    assert without_repeated(rows, None, RULE.deduplicate).count() == 2
    assert without_repeated(rows, None, RULE.deduplicate, ("the kind",)).count() == 1
