"""Rows of Parquet files in an object store as a frame: Spark's tasks read them by Arrow, as they write them.

The columns that are asked for, with the types that are asked for: a file that is older than a column has nulls there,
and one that is older than a wider type its narrower values. This module is sent to the nodes of a cluster, which need
pyarrow and no other package.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.parquet_files import store_file_system
from signalbox.pipeline.object_store.settings import StoreSettings


def stored_rows(spark: SparkSession, table: S3Location, files: Sequence[str], schema: StructType) -> DataFrame:
    """The rows of some of a table's files, which are named by their paths below the table."""
    read = task_reader(StoreSettings.of_environment(os.environ), table.path, to_arrow_schema(schema, timezone="UTC"))
    tasks = min(len(files), spark.sparkContext.defaultParallelism)
    names = spark.createDataFrame([(name,) for name in files], "path STRING").repartition(max(1, tasks))
    return names.mapInArrow(read, schema)


def task_reader(
    settings: StoreSettings, table: str, schema: pa.Schema
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a task: batches of paths become batches of rows. `table`: the bucket and the key of the table."""

    def read(paths: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files = fs.SubTreeFileSystem(table, store_file_system(settings))
        for batch in paths:
            for path in batch.column(0).to_pylist():
                yield from rows_of_file(files, path, schema)

    return read


def rows_of_file(files: fs.FileSystem, path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of one file, a row group at a time."""
    with files.open_input_file(path) as opened:
        file = pq.ParquetFile(opened)
        there = [name for name in schema.names if name in file.schema_arrow.names]
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=there)
            columns = [
                rows.column(field.name).cast(field.type) if field.name in there else pa.nulls(rows.num_rows, field.type)
                for field in schema
            ]
            yield from pa.table(columns, schema=schema).to_batches()
