"""Commits by Delta's own sink. The tests that it shares with the other committer are in test_sink_rs.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from signalbox.pipeline.sinks import sink_spark
from signalbox.pipeline.sinks.delta_log import ensure_table, read_table, rows_of_transaction
from signalbox.pipeline.sinks.sink_spark import SparkSink
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget, transaction_app


@pytest.mark.spec("P3", "P10")
def test_a_batch_is_committed_once_with_its_lineage(spark: SparkSession, tmp_path: Path) -> None:
    target = TableTarget(tmp_path / "table", transaction_app("p", 1, "table"))
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id BIGINT, text STRING")
    ensure_table(target.path, json.loads(frame.schema.json()))
    sink = SparkSink()
    assert sink.append(frame, target, BatchStamp(3, {"to": {"t:0": 9}})) == 2
    assert sink.append(frame, target, BatchStamp(3)) is None
    assert sink.append(frame, target, BatchStamp(2)) is None
    assert sink.last_batch(target) == 3
    assert sorted(read_table(target.path).column("id").to_pylist()) == [1, 2]
    (newest, *_) = DeltaTable(str(target.path)).history(1)
    assert json.loads(newest["userMetadata"]) == {"batch_id": 3, "to": {"t:0": 9}}
    # An empty batch leaves its mark too: by it a table and a checkpoint of different times are recognized.
    assert sink.append(frame.limit(0), target, BatchStamp(4)) == 0
    assert sink.last_batch(target) == 4


@pytest.mark.spec("P3")
def test_a_compaction_behind_a_commit_does_not_change_its_number_of_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table"
    target = TableTarget(path, transaction_app("p", 1, "table"))
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id BIGINT, text STRING")
    ensure_table(path, json.loads(frame.schema.json()))
    assert SparkSink().append(frame, target, BatchStamp(0)) == 2

    def compacted_before(*of_batch: Any) -> int:
        DeltaTable(str(path)).optimize.compact()
        return rows_of_transaction(*of_batch)

    monkeypatch.setattr(sink_spark, "rows_of_transaction", compacted_before)
    assert SparkSink().append(frame, target, BatchStamp(1)) == 2
