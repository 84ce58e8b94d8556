"""Commits by delta-rs: the same transaction mark and the same table as Delta's own sink."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow import fs
from pyarrow.dataset import field
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from signalbox.pipeline.sinks.delta_log import ensure_table, read_table
from signalbox.pipeline.sinks.sink_rs import RsSink
from signalbox.pipeline.sinks.sink_spark import SparkSink
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableSink, TableTarget, transaction_app

SCHEMA = "id BIGINT, text STRING, part DOUBLE"


def fill(spark: SparkSession, sink: TableSink, target: TableTarget, batch_id: int, *ids: int) -> int | None:
    frame = spark.createDataFrame([(number, f"row {number}", number / 2) for number in ids], SCHEMA)
    ensure_table(target.path, json.loads(frame.schema.json()))
    return sink.append(frame, target, BatchStamp(batch_id, {"to": {"t:0": batch_id}}))


@pytest.fixture
def target(tmp_path: Path) -> TableTarget:
    return TableTarget(tmp_path / "table", transaction_app("p", 1, "table"))


def ids(target: TableTarget) -> list[int]:
    found: list[int] = read_table(target.path, ["id"]).column("id").to_pylist()
    return sorted(found)


@pytest.mark.spec("P3")
def test_a_batch_is_committed_once(spark: SparkSession, target: TableTarget) -> None:
    sink = RsSink()
    assert sink.last_batch(target) is None
    assert fill(spark, sink, target, 0, 1, 2) == 2
    assert fill(spark, sink, target, 0, 1, 2) is None
    assert fill(spark, sink, target, 1) == 0
    assert (sink.last_batch(target), ids(target)) == (1, [1, 2])


@pytest.mark.spec("P3")
def test_files_that_a_dead_run_left_do_not_count(spark: SparkSession, target: TableTarget) -> None:
    sink = RsSink()
    fill(spark, sink, target, 0, 1)
    assert isinstance(target.path, Path)
    committed = min((target.path / "batches").glob("*/000000000000/*.parquet"))
    orphan = committed.parent.with_name("000000000001") / "orphan.parquet"
    orphan.parent.mkdir()
    orphan.write_bytes(committed.read_bytes())
    fill(spark, sink, target, 1, 2)
    assert ids(target) == [1, 2]
    assert not orphan.exists()


@pytest.mark.spec("P3", "P10")
@pytest.mark.parametrize(("first", "second"), [(RsSink(), SparkSink()), (SparkSink(), RsSink())])
def test_the_committers_see_each_others_batches(
    spark: SparkSession, target: TableTarget, first: TableSink, second: TableSink
) -> None:
    assert fill(spark, first, target, 0, 1) == 1
    assert fill(spark, second, target, 0, 1) is None
    assert fill(spark, second, target, 1, 2) == 1
    assert fill(spark, first, target, 1, 2) is None
    assert ids(target) == [1, 2]
    assert spark.read.format("delta").load(str(target.path)).count() == 2


def test_a_new_generation_may_repeat_batch_ids(spark: SparkSession, target: TableTarget) -> None:
    sink = RsSink()
    fill(spark, sink, target, 0, 1)
    again = TableTarget(target.path, transaction_app("p", 2, "table"))
    assert fill(spark, sink, again, 0, 2) == 1
    assert ids(target) == [1, 2]


def test_a_commit_names_the_source_of_its_records(spark: SparkSession, target: TableTarget) -> None:
    fill(spark, RsSink(), target, 7, 1)
    (newest, *_) = DeltaTable(str(target.path)).history(1)
    assert json.loads(newest["userMetadata"]) == {"batch_id": 7, "to": {"t:0": 7}}


@pytest.mark.spec("P8", "P10")
def test_readers_that_skip_files_by_times_find_every_row(spark: SparkSession, target: TableTarget) -> None:
    times = [datetime(2026, 1, 1, 0, 0, 0, microseconds, UTC) for microseconds in (0, 1, 999, 1_000, 1_001)]
    for batch_id, time in enumerate(times):
        frame = spark.createDataFrame([(time,)], "at TIMESTAMP")
        ensure_table(target.path, json.loads(frame.schema.json()))
        assert RsSink().append(frame, target, BatchStamp(batch_id)) == 1
    of_spark = spark.read.format("delta").load(str(target.path))
    for time in times:
        assert of_spark.filter(F.col("at") == F.lit(time)).count() == 1
    dataset = DeltaTable(str(target.path)).to_pyarrow_dataset(
        filesystem=fs.SubTreeFileSystem(str(target.path), fs.LocalFileSystem())
    )
    assert [dataset.to_table(filter=field("at") == time).num_rows for time in times] == [1] * len(times)


VALUES = ["a b", "c/d", "e%3A=:é", None, "*?[x]"]


@pytest.mark.spec("P8", "P10")
@pytest.mark.parametrize("sink", [RsSink(), SparkSink()])
def test_a_partitioned_table_has_the_values_of_its_folders(
    spark: SparkSession, target: TableTarget, sink: TableSink
) -> None:
    frame = spark.createDataFrame([(n, VALUES[n % 5], n % 2) for n in range(10)], "id BIGINT, text STRING, part INT")
    ensure_table(target.path, json.loads(frame.schema.json()), ["part", "text"])
    assert sink.append(frame, target, BatchStamp(0)) == 10
    assert sink.append(frame, target, BatchStamp(0)) is None
    rows = sorted(read_table(target.path).to_pylist(), key=lambda row: row["id"])
    assert rows == [{"id": n, "text": VALUES[n % 5], "part": n % 2} for n in range(10)]
    of_spark = spark.read.format("delta").load(str(target.path)).select("id", "text", "part").orderBy("id").collect()
    assert [tuple(row) for row in of_spark] == [(n, VALUES[n % 5], n % 2) for n in range(10)]
    files = pa.table(DeltaTable(str(target.path)).get_add_actions(flatten=True)).to_pylist()
    assert {(file["partition.part"], file["partition.text"]) for file in files} == {
        (n % 2, VALUES[n % 5]) for n in range(10)
    }
