"""A table with the newest row of each key."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from signalbox.pipeline.sinks import upsert_sink
from signalbox.pipeline.sinks.delta_log import ensure_table, read_table
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget, transaction_app
from signalbox.pipeline.sinks.upsert_sink import UpsertSink

pytestmark = pytest.mark.spec("P3", "P8")
SCHEMA = "key BINARY, value BINARY, partition INT, offset BIGINT, timestamp TIMESTAMP, n INT, m MAP<STRING, INT>"


@pytest.fixture
def target(tmp_path: Path) -> TableTarget:
    return TableTarget(tmp_path / "table", transaction_app("p", 1, "table"))


def merge(
    spark: SparkSession, target: TableTarget, batch_id: int, *records: tuple[bytes, int | None, int, int, int]
) -> int | None:
    """Records: key, number (None: a tombstone), partition, offset, second of the timestamp."""
    rows: list[tuple[Any, ...]] = [
        (
            key,
            None if n is None else b"v",
            partition,
            offset,
            datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC),
            n,
            {"a": 1},
        )
        for key, n, partition, offset, second in records
    ]
    frame = spark.createDataFrame(rows, SCHEMA)
    ensure_table(target.path, json.loads(frame.schema.json()))
    return sink_of(target).append(frame, target, BatchStamp(batch_id, {"to": {"t:0": batch_id}}))


def sink_of(target: TableTarget) -> UpsertSink:
    assert isinstance(target.path, Path)
    return UpsertSink(target.path.parent / ".signalbox" / target.name)


def compact(target: TableTarget) -> None:
    DeltaTable(str(target.path)).optimize.compact()


def numbers(target: TableTarget) -> dict[bytes, int]:
    return {row["key"]: row["n"] for row in read_table(target.path).to_pylist()}


def test_the_newest_row_of_a_key_stays_and_a_tombstone_deletes_it(spark: SparkSession, target: TableTarget) -> None:
    assert (
        merge(spark, target, 0, (b"a", 1, 0, 0, 0), (b"b", 1, 0, 1, 1), (b"a", 2, 0, 2, 2), (b"c", None, 0, 3, 3)) == 2
    )
    assert numbers(target) == {b"a": 2, b"b": 1}
    assert merge(spark, target, 1, (b"a", None, 0, 4, 4), (b"b", 5, 0, 5, 5), (b"d", 6, 0, 6, 6)) == 3
    assert numbers(target) == {b"b": 5, b"d": 6}
    assert read_table(target.path).to_pylist()[0]["m"] == [("a", 1)]


def test_a_batch_is_merged_once_even_if_it_changes_nothing(spark: SparkSession, target: TableTarget) -> None:
    assert merge(spark, target, 0, (b"a", 1, 0, 9, 9)) == 1
    assert merge(spark, target, 0, (b"a", 7, 0, 10, 10)) is None
    assert merge(spark, target, 1, (b"x", None, 0, 11, 11)) == 0
    assert merge(spark, target, 1, (b"y", 1, 0, 12, 12)) is None
    assert merge(spark, target, 2) == 0
    assert (sink_of(target).last_batch(target), numbers(target)) == (2, {b"a": 1})


def test_an_older_record_does_not_replace_a_newer_one(spark: SparkSession, target: TableTarget) -> None:
    merge(spark, target, 0, (b"a", 9, 0, 9, 9))
    merge(spark, target, 1, (b"a", 3, 0, 3, 3), (b"a", None, 0, 4, 4))
    assert numbers(target) == {b"a": 9}


def test_of_two_partitions_the_later_record_is_newer(spark: SparkSession, target: TableTarget) -> None:
    """Of a topic that got a partition: its newest record is read before the rest of the old partition."""
    merge(spark, target, 0, (b"a", 999, 1, 0, 50), (b"b", 2, 1, 1, 40))
    assert merge(spark, target, 1, (b"a", 8, 0, 8, 8), (b"a", 9, 0, 9, 9), (b"b", 9, 0, 10, 41)) == 1
    assert numbers(target) == {b"a": 999, b"b": 9}
    merge(spark, target, 2, (b"a", 7, 0, 10, 50), (b"b", 3, 1, 9, 41))
    assert numbers(target) == {b"a": 7, b"b": 9}


def test_a_deleted_key_does_not_come_back(spark: SparkSession, target: TableTarget) -> None:
    merge(spark, target, 0, (b"a", 1, 0, 0, 1), (b"b", None, 1, 0, 50))
    merge(spark, target, 1, (b"a", None, 1, 1, 50))
    assert merge(spark, target, 2, (b"a", 2, 0, 1, 2), (b"b", 2, 0, 2, 2), (b"c", 2, 0, 3, 3)) == 1
    assert numbers(target) == {b"c": 2}
    assert merge(spark, target, 3, (b"a", 3, 0, 4, 51), (b"b", 3, 1, 2, 58)) == 2
    merge(spark, target, 4, (b"a", 4, 1, 2, 52), (b"b", None, 0, 5, 55))
    assert numbers(target) == {b"a": 4, b"b": 3, b"c": 2}


def test_a_compaction_before_the_commit_doubles_nothing(
    spark: SparkSession, target: TableTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Just before the merge commits, so that it conflicts."""
    merge(spark, target, 0, (b"a", 1, 0, 0, 0))
    merge(spark, target, 1, (b"b", 1, 0, 1, 1))
    as_in_table, compactions = upsert_sink._as_in_table, [compact]

    def compacted_first(*args: Any) -> Any:
        if compactions:
            compactions.pop()(target)
        return as_in_table(*args)

    monkeypatch.setattr(upsert_sink, "_as_in_table", compacted_first)
    assert merge(spark, target, 2, (b"a", 2, 0, 2, 2), (b"c", 2, 0, 3, 3)) == 2
    assert compactions == []
    assert merge(spark, target, 2, (b"a", 3, 0, 2, 2)) is None
    assert len(read_table(target.path)) == 3
    assert numbers(target) == {b"a": 2, b"b": 1, b"c": 2}
