"""Ranges that an earlier program left out are added to the log."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from signalbox.pipeline.sinks.delta_log import TableFiles, ensure_table, read_table
from signalbox.pipeline.sinks.maintain import maintain_table
from signalbox.pipeline.sinks.sink_rs import RsSink
from signalbox.pipeline.sinks.statistics import complete_statistics
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget

pytestmark = pytest.mark.spec("P8")
SCHEMA = "id BIGINT, at TIMESTAMP, day DATE, part STRING, none DATE, tags MAP<STRING, STRING>"
PARTS = ["a b", "c/d", "e%3A=:é", None]
AT = datetime(2026, 11, 27, 12, 0, 0, 123_456, tzinfo=UTC)


def write(spark: SparkSession, path: Path, batch_id: int) -> None:
    rows = [(n, AT, date(2026, 11, n + 1), PARTS[n], None, {"k": "v"}) for n in range(4)]
    frame = spark.createDataFrame(rows, SCHEMA)
    ensure_table(path, json.loads(frame.schema.json()), ["part"])
    RsSink().append(frame.coalesce(1), TableTarget(path, "app"), BatchStamp(batch_id))


def without_times(path: Path) -> None:
    """The log as a program wrote it that knew ranges of numbers only."""
    for log in (path / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                statistics = json.loads(action["add"]["stats"])
                for values in statistics.values():
                    for name in ("at", "day", "none") if isinstance(values, dict) else ():
                        values.pop(name, None)
                action["add"]["stats"] = json.dumps(statistics)
        log.write_text("\n".join(json.dumps(action) for action in actions) + "\n")


def files(path: Path) -> list[dict[str, Any]]:
    return sorted(pa.table(DeltaTable(str(path)).get_add_actions(flatten=True)).to_pylist(), key=lambda f: f["min.id"])


def test_a_batch_has_ranges_of_its_times(spark: SparkSession, tmp_path: Path) -> None:
    write(spark, tmp_path / "t", 0)
    first = files(tmp_path / "t")[0]
    assert (first["min.day"], first["max.day"], first["null_count.none"]) == (date(2026, 11, 1), date(2026, 11, 1), 1)
    assert first["min.at"] <= AT <= first["max.at"]
    assert complete_statistics(tmp_path / "t") == 0
    of_spark = spark.read.format("delta").load(str(tmp_path / "t"))
    assert of_spark.filter("at = TIMESTAMP '2026-11-27 12:00:00.123456'").count() == 4


def test_missing_ranges_are_completed_and_nothing_else_changes(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    write(spark, path, 0)
    complete = files(path)
    without_times(path)
    rows = sorted(read_table(path).to_pylist(), key=lambda row: row["id"])
    assert "min.at" not in files(path)[0] or files(path)[0]["min.at"] is None
    version = TableFiles(path).version
    assert complete_statistics(path) == 4
    assert files(path) == complete
    assert (TableFiles(path).version, TableFiles(path).added_since(version)) == (version + 1, [])
    assert sorted(read_table(path).to_pylist(), key=lambda row: row["id"]) == rows
    assert complete_statistics(path) == 0
    of_spark = spark.read.format("delta").load(str(path))
    assert of_spark.filter("day >= DATE '2026-11-04'").count() == 1


def test_maintenance_completes_files_that_it_does_not_rewrite(spark: SparkSession, tmp_path: Path) -> None:
    write(spark, tmp_path / "t", 0)
    without_times(tmp_path / "t")
    lines: list[str] = []
    (result,) = maintain_table(tmp_path, "t", say=lines.append)
    assert (result.files_after, result.completed_statistics) == (4, 4)
    assert lines[0].startswith("t: 4 files became 4, statistics of 4 completed, 0 old files deleted, ")
    assert files(tmp_path / "t")[3]["max.day"] == date(2026, 11, 4)
