"""A table with the newest row of each key."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.sinks.delta_log import ensure_table, read_table
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget, transaction_app
from signalbox.pipeline.sinks.upsert_sink import UpsertSink

pytestmark = pytest.mark.spec("P3", "P8")
SCHEMA = "key BINARY, value BINARY, partition INT, offset BIGINT, timestamp TIMESTAMP, n INT, m MAP<STRING, INT>"


@pytest.fixture
def target(tmp_path: Path) -> TableTarget:
    return TableTarget(tmp_path / "table", transaction_app("p", 1, "table"))


def merge(
    spark: SparkSession, target: TableTarget, batch_id: int, *records: tuple[bytes, int | None, int, int]
) -> int | None:
    rows: list[tuple[Any, ...]] = [
        (
            key,
            None if n is None else b"v",
            partition,
            offset,
            datetime(2026, 1, 1, 0, 0, offset, tzinfo=UTC),
            n,
            {"a": 1},
        )
        for key, n, partition, offset in records
    ]
    frame = spark.createDataFrame(rows, SCHEMA)
    ensure_table(target.path, json.loads(frame.schema.json()))
    return UpsertSink().append(frame, target, BatchStamp(batch_id, {"to": {"t:0": batch_id}}))


def numbers(target: TableTarget) -> dict[bytes, int]:
    return {row["key"]: row["n"] for row in read_table(target.path).to_pylist()}


def test_the_newest_row_of_a_key_stays_and_a_tombstone_deletes_it(spark: SparkSession, target: TableTarget) -> None:
    assert merge(spark, target, 0, (b"a", 1, 0, 0), (b"b", 1, 0, 1), (b"a", 2, 0, 2), (b"c", None, 0, 3)) == 2
    assert numbers(target) == {b"a": 2, b"b": 1}
    assert merge(spark, target, 1, (b"a", None, 0, 4), (b"b", 5, 0, 5), (b"d", 6, 0, 6)) == 3
    assert numbers(target) == {b"b": 5, b"d": 6}
    assert read_table(target.path).to_pylist()[0]["m"] == [("a", 1)]


def test_a_batch_is_merged_once_even_if_it_changes_nothing(spark: SparkSession, target: TableTarget) -> None:
    assert merge(spark, target, 0, (b"a", 1, 0, 9)) == 1
    assert merge(spark, target, 0, (b"a", 7, 0, 10)) is None
    assert merge(spark, target, 1, (b"x", None, 0, 11)) == 0
    assert merge(spark, target, 1, (b"y", 1, 0, 12)) is None
    assert merge(spark, target, 2) == 0
    assert (UpsertSink().last_batch(target), numbers(target)) == (2, {b"a": 1})


def test_an_older_record_does_not_replace_a_newer_one(spark: SparkSession, target: TableTarget) -> None:
    merge(spark, target, 0, (b"a", 9, 0, 9))
    merge(spark, target, 1, (b"a", 3, 0, 3), (b"a", None, 0, 4))
    assert numbers(target) == {b"a": 9}
    merge(spark, target, 2, (b"a", 4, 1, 0), (b"a", 5, 1, 1))
    assert numbers(target) == {b"a": 5}
