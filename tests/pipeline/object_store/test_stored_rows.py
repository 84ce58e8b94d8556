"""Rows of files are read back with the columns and the types that are asked for."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.parquet_files import store_file_system
from signalbox.pipeline.object_store.settings import StoreSettings
from signalbox.pipeline.object_store.stored_rows import rows_of_file, stored_rows, task_reader
from tests.pipeline.object_store.store_server import StoreServer, compiled_server

NEEDS = (compiled_server,)
pytestmark = pytest.mark.spec("P8", "P10")
SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string())])


def test_an_older_file_has_nulls_and_narrower_values(tmp_path: Path) -> None:
    pq.write_table(pa.table({"other": ["x", "y", "z"], "n": pa.array([3, None, 1], pa.int32())}), tmp_path / "f", 2)
    batches = list(rows_of_file(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "f", SCHEMA))
    assert [batch.num_rows for batch in batches] == [2, 1], "a row group at a time"
    assert pa.Table.from_batches(batches, SCHEMA).to_pydict() == {"n": [3, None, 1], "text": [None, None, None]}


def test_a_task_can_be_pickled() -> None:
    from pyspark import cloudpickle

    read = task_reader(StoreSettings(region="r", endpoint="http://127.0.0.1:1"), "bucket/t", SCHEMA)
    sent = cloudpickle.dumps(read)  # type: ignore[no-untyped-call]
    assert callable(pickle.loads(sent))


def test_spark_reads_the_files_of_a_store(spark: SparkSession, store: StoreServer, store_warehouse: S3Location) -> None:
    table = store_warehouse / "t"
    files = fs.SubTreeFileSystem(table.path, store_file_system(StoreSettings.of_environment(store.environment)))
    for number in range(3):
        with files.open_output_stream(f"part {number}.parquet") as stream:
            pq.write_table(pa.table({"n": [number], "text": ["a b"]}), stream)
    schema = StructType([StructField("text", StringType()), StructField("n", LongType())])
    names = [f"part {number}.parquet" for number in range(3)]
    frame = stored_rows(spark, table, names, schema)
    assert frame.schema == schema
    assert sorted(tuple(row) for row in frame.collect()) == [("a b", 0), ("a b", 1), ("a b", 2)]
