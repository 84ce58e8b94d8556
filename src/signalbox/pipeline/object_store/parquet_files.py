"""Parquet files that Spark's tasks write into an object store by Arrow: Spark's wheel has no client of S3.

A task returns what a commit needs: path, size, statistics and partition values of its files. Names are new each time,
so that a task that runs twice overwrites nothing; files that no commit names are deleted by maintenance. This module is
sent to the nodes of a cluster, which need pyarrow and no other package.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from signalbox.pipeline.object_store.column_ranges import TIME_TYPES, column_range
from signalbox.pipeline.object_store.settings import (
    ATTEMPTS,
    CONNECT_TIMEOUT_SECONDS,
    REQUEST_TIMEOUT_SECONDS,
    StoreSettings,
)

FILE_SCHEMA = "path STRING, size_bytes BIGINT, statistics STRING, partition_values STRING"
_FILE_ARROW_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("size_bytes", pa.int64()),
        ("statistics", pa.string()),
        ("partition_values", pa.string()),
    ]
)
# Rows are collected up to this size in memory: a row group per batch of Spark's would be ten times smaller.
ROW_GROUP_BYTES = 64 * 1024 * 1024
PARTITION = "_partition_values"
"""The column with a row's partition values as a struct of texts; rows arrive sorted by it."""

# Column types by whose range readers skip files: numbers, and times in microseconds (INT64). Ranges of long texts and
# bytes would only make the log larger.
_RANGED_TYPES = {"INT32", "INT64", "DOUBLE"}


def store_file_system(settings: StoreSettings) -> fs.S3FileSystem:
    """Arrow's client of a store."""
    return fs.S3FileSystem(
        endpoint_override=settings.endpoint,
        region=settings.region,
        access_key=settings.access_key,
        secret_key=settings.secret_key,
        session_token=settings.session_token,
        force_virtual_addressing=settings.virtual_hosted,
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        request_timeout=REQUEST_TIMEOUT_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=settings.attempts or ATTEMPTS),
        allow_delayed_open=True,  # a small file is one request
    )


def footer_statistics(footer: pq.FileMetaData) -> dict[str, Any]:
    """Delta's per-file statistics from a Parquet footer: rows, and ranges and nulls of top-level numbers and times."""
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for index in range(footer.num_columns):
        column = footer.schema.column(index)
        if column.path != column.name or column.physical_type not in _RANGED_TYPES:
            continue
        if column.logical_type.type not in ("NONE", "INT") and column.converted_type not in TIME_TYPES:
            continue
        chunks = [footer.row_group(group).column(index).statistics for group in range(footer.num_row_groups)]
        if any(chunk is None or not chunk.has_null_count for chunk in chunks):
            continue
        nulls[column.name] = sum(chunk.null_count for chunk in chunks)
        ends = column_range(column, chunks)
        if ends is not None:
            lows[column.name], highs[column.name] = ends
    return {"numRecords": footer.num_rows, "minValues": lows, "maxValues": highs, "nullCount": nulls}


def statistics_text(statistics: dict[str, Any]) -> str:
    """Per-file statistics as the log has them: JSON, which has no infinity and no NaN."""
    return json.dumps(statistics, allow_nan=False)


class _File:
    """A file that is being written."""

    def __init__(self, files: fs.FileSystem, path: str, schema: pa.Schema, partition: dict[str, str | None]) -> None:
        self.partition = partition
        self._path = path
        self._footer: list[pq.FileMetaData] = []
        self._stream = files.open_output_stream(path)
        self._writer = pq.ParquetWriter(self._stream, schema, compression="zstd", metadata_collector=self._footer)
        self._waiting: list[pa.RecordBatch] = []

    def add(self, rows: pa.RecordBatch) -> None:
        """Adds rows."""
        self._waiting.append(rows)
        if sum(batch.nbytes for batch in self._waiting) >= ROW_GROUP_BYTES:
            self._write()

    def _write(self) -> None:
        self._writer.write_table(pa.Table.from_batches(self._waiting))
        self._waiting = []

    def close(self) -> dict[str, Any]:
        """Completes the file; returns its row of FILE_SCHEMA."""
        if self._waiting:
            self._write()
        self._writer.close()
        size = self._stream.tell()
        self._stream.close()
        return {
            "path": self._path,
            "size_bytes": size,
            "statistics": statistics_text(footer_statistics(self._footer[0])),
            "partition_values": json.dumps(self.partition),
        }


def _equal_ranges(values: pa.StructArray) -> Iterator[tuple[int, int]]:
    """The ranges of rows with equal values, of sorted rows."""
    ends: set[int] = set()
    for column in values.flatten():
        ends.update(pc.run_end_encode(column).run_ends.to_pylist())
    begin = 0
    for end in sorted(ends):
        yield begin, end
        begin = end


def _parts(batch: pa.RecordBatch) -> Iterator[tuple[dict[str, str | None], pa.RecordBatch]]:
    """Rows of one partition each, without the column of the partition values."""
    if PARTITION not in batch.schema.names:
        yield {}, batch
        return
    values = batch.column(PARTITION)
    rows = batch.drop_columns([PARTITION])
    for begin, end in _equal_ranges(values):
        yield values[begin].as_py(), rows.slice(begin, end - begin)


def write_files(batches: Iterator[pa.RecordBatch], files: fs.FileSystem, folder: str) -> Iterator[dict[str, Any]]:
    """Writes the rows into one file per partition below `folder` of a file system; yields rows of FILE_SCHEMA."""
    current: _File | None = None
    for batch in batches:
        for partition, rows in _parts(batch) if batch.num_rows else ():
            if current is not None and current.partition != partition:
                yield current.close()
                current = None
            if current is None:
                current = _File(files, f"{folder}/{uuid.uuid4().hex}.parquet", rows.schema, partition)
            current.add(rows)
    if current is not None:
        yield current.close()


def task_writer(
    settings: StoreSettings, table: str, folder: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a task: `table` is the bucket and the key of the table, `folder` a path below it."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files = fs.SubTreeFileSystem(table, store_file_system(settings))
        for row in write_files(batches, files, folder):
            yield pa.RecordBatch.from_pylist([row], schema=_FILE_ARROW_SCHEMA)

    return write
