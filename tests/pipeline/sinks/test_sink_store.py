"""Batches of tables in an S3 store: the same marks and the same rows as in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.open_table import StoreError, open_table, storage_options
from signalbox.pipeline.sinks.delta_log import count_rows, ensure_table, read_table
from signalbox.pipeline.sinks.maintain import maintain_table
from signalbox.pipeline.sinks.sink_store import StoreSink, partitioned
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget, transaction_app
from signalbox.pipeline.sinks.upsert_sink import UpsertSink
from tests.pipeline.object_store.flaky_store import flaky_store
from tests.pipeline.object_store.store_server import StoreServer, compiled_server
from tests.pipeline.sinks.test_sink_rs import SCHEMA, VALUES, fill, ids

NEEDS = (compiled_server,)
pytestmark = pytest.mark.spec("P3", "P8", "P10")


@pytest.fixture
def target(store_warehouse: S3Location) -> TableTarget:
    return TableTarget(store_warehouse / "table", transaction_app("p", 1, "table"))


def test_a_batch_is_committed_once(spark: SparkSession, target: TableTarget) -> None:
    sink = StoreSink()
    assert sink.last_batch(target) is None
    assert fill(spark, sink, target, 0, 1, 2) == 2
    assert fill(spark, sink, target, 0, 1, 2) is None
    assert fill(spark, sink, target, 1) == 0
    assert (sink.last_batch(target), ids(target)) == (1, [1, 2])
    (newest, *_) = open_table(target.path).history(1)
    assert json.loads(newest["userMetadata"]) == {"batch_id": 1, "to": {"t:0": 1}}
    [file] = pa.table(open_table(target.path).get_add_actions(flatten=True)).to_pylist()[:1]
    assert file["num_records"] in (1, 2)
    assert file["min.id"] == 1


def test_a_partitioned_table_has_the_values_of_its_rows(spark: SparkSession, target: TableTarget) -> None:
    frame = spark.createDataFrame([(n, VALUES[n % 5], n % 2) for n in range(10)], "id BIGINT, text STRING, part INT")
    ensure_table(target.path, json.loads(frame.schema.json()), ["part", "text"])
    assert StoreSink().append(frame, target, BatchStamp(0)) == 10
    rows = sorted(read_table(target.path).to_pylist(), key=lambda row: row["id"])
    assert rows == [{"id": n, "text": VALUES[n % 5], "part": n % 2} for n in range(10)]
    files = pa.table(open_table(target.path).get_add_actions(flatten=True)).to_pylist()
    partitions = [(file["partition.part"], file["partition.text"]) for file in files]
    assert set(partitions) == {(n % 2, VALUES[n % 5]) for n in range(10)}
    assert partitioned(frame, ()) is frame


def store_path(target: TableTarget) -> S3Location:
    assert isinstance(target.path, S3Location)
    return target.path


TYPES = """id BIGINT, small SMALLINT, f FLOAT, flag BOOLEAN, day DATE, at TIMESTAMP, price DECIMAL(10, 2), raw BINARY,
    list ARRAY<STRING>, map MAP<STRING, INT>, part STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING>>>"""
ROW: tuple[Any, ...] = (
    *(1, 2, 0.5, True, date(2026, 1, 2), datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), Decimal("1.50"), b"\0\xff"),
    *(["x", None], {"k": 1}, (1, [("c",)])),
)


def with_deltalake(path: S3Location) -> list[Any]:
    rows: list[Any] = read_table(path).to_pylist()
    return rows


def with_polars(path: S3Location) -> list[Any]:
    polars = pytest.importorskip("polars")
    rows: list[Any] = polars.read_delta(str(path)).to_dicts()  # with the same environment
    return rows


def with_duckdb(path: S3Location) -> list[Any]:
    connection = pytest.importorskip("duckdb").connect()
    connection.register("t", open_table(path).to_pyarrow_dataset())
    rows: list[Any] = connection.sql("SELECT * FROM t").to_arrow_table().to_pylist()
    return rows


@pytest.mark.parametrize("reader", [with_deltalake, with_polars, with_duckdb])
def test_every_type_is_read_back(
    spark: SparkSession, target: TableTarget, reader: Callable[[S3Location], list[Any]]
) -> None:
    frame = spark.createDataFrame([ROW, (None,) * len(ROW)], TYPES)
    ensure_table(target.path, json.loads(frame.schema.json()))
    assert StoreSink().append(frame, target, BatchStamp(0)) == 2
    rows = {row["id"]: row for row in reader(store_path(target))}
    assert set(rows[None].values()) == {None}
    row = rows[1]
    assert (row["small"], row["f"], row["flag"], row["day"], row["price"]) == (2, 0.5, True, ROW[4], Decimal("1.50"))
    assert (row["at"].astimezone(UTC), row["raw"], row["list"]) == (ROW[5], ROW[7], ["x", None])
    assert row["part"] == {"a": 1, "b": [{"c": "c"}]}


def test_writers_and_maintenance_at_the_same_time_lose_nothing(
    spark: SparkSession, store_warehouse: S3Location, target: TableTarget
) -> None:
    def rows(start: int) -> DataFrame:
        values = [(n, f"row {n}", n / 2) for n in range(start, start + 3)]
        return spark.createDataFrame(values, SCHEMA)

    ensure_table(target.path, json.loads(rows(0).schema.json()))
    batches = 6

    def pipeline(number: int) -> None:
        own = TableTarget(target.path, transaction_app(f"pipeline-{number}", 1, "table"))
        for batch in range(batches):
            assert StoreSink().append(rows(number * 1000 + batch * 3), own, BatchStamp(batch)) == 3

    def other_program() -> None:
        for number in range(batches):
            content = pa.table({"id": [9000 + number], "text": ["x"], "part": [0.5]})
            write_deltalake(str(target.path), content, mode="append", storage_options=storage_options(target.path))

    def maintenance() -> None:
        for _ in range(batches):
            maintain_table(store_warehouse, "table", say=lambda _: None)

    with ThreadPoolExecutor(4) as pool:
        jobs = [
            pool.submit(pipeline, 1),
            pool.submit(pipeline, 2),
            pool.submit(other_program),
            pool.submit(maintenance),
        ]
        for job in jobs:
            job.result(120)
    written = [1000 * number + n for number in (1, 2) for n in range(batches * 3)]
    assert ids(target) == sorted([*written, *(9000 + n for n in range(batches))])


def test_an_overloaded_store_delays_a_batch_or_fails_it_as_a_whole(
    spark: SparkSession, target: TableTarget, store: StoreServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(spark, StoreSink(), target, 0, 1)
    with flaky_store(store.port) as proxy, monkeypatch.context() as environment:
        environment.setenv("AWS_ENDPOINT_URL", proxy.address)
        proxy.set(failing=4)
        assert fill(spark, StoreSink(), target, 1, 2) == 1
        environment.setenv("AWS_MAX_ATTEMPTS", "2")
        frame = spark.createDataFrame([(3, "row 3", 1.5)], SCHEMA)
        # The table is read, the file of the task is not accepted.
        proxy.set(failing_puts=True)
        with pytest.raises(StoreError, match="the store answers with errors"):
            StoreSink().append(frame, target, BatchStamp(2))
        proxy.set()
        assert (ids(target), StoreSink().append(frame, target, BatchStamp(2))) == ([1, 2], 1)
    assert ids(target) == [1, 2, 3]


def test_upserts_are_merged_once(spark: SparkSession, store_warehouse: S3Location, tmp_path: Path) -> None:
    target = TableTarget(store_warehouse / "newest", "app")
    schema = "key BINARY, value BINARY, partition INT, offset BIGINT, timestamp TIMESTAMP, n INT"

    def merge(batch_id: int, *records: tuple[bytes, int | None, int]) -> int | None:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        rows = [(key, None if n is None else b"v", 0, offset, at, n) for key, n, offset in records]
        frame = spark.createDataFrame(rows, schema)
        ensure_table(target.path, json.loads(frame.schema.json()))
        return UpsertSink(tmp_path).append(frame, target, BatchStamp(batch_id))

    assert merge(0, (b"a", 1, 0), (b"b", 1, 1)) == 2
    assert merge(0, (b"a", 7, 9)) is None
    assert merge(1, (b"a", None, 2), (b"b", 5, 3)) == 2
    assert [(row["key"], row["n"]) for row in read_table(target.path).to_pylist()] == [(b"b", 5)]
    assert merge(2, (b"x", None, 4)) == 0
    assert count_rows(target.path) == 1
    assert UpsertSink(tmp_path).last_batch(target) == 2
