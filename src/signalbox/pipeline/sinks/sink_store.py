"""Batches of a table in an object store: Spark's tasks write Parquet files by Arrow, delta-rs commits them.

In both profiles, since Delta's sink needs Hadoop's client of S3: 600 MB of jars. Decision 0055 has the reasons.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence

from deltalake.transaction import AddAction
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.open_table import store_faults
from signalbox.pipeline.object_store.parquet_files import FILE_SCHEMA, PARTITION, task_writer
from signalbox.pipeline.object_store.settings import StoreSettings
from signalbox.pipeline.sinks.commit_files import batch_folder, commit_files
from signalbox.pipeline.sinks.delta_log import last_transaction, partition_columns
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget


def partitioned(frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The frame with its partition columns as one struct of texts, as Delta's log has them, and sorted by it. Null and
    the empty text are one partition."""
    if not columns:
        return frame
    texts = [F.nullif(F.col(f"`{name}`").cast("string"), F.lit("")).alias(name) for name in columns]
    return frame.withColumn(PARTITION, F.struct(*texts)).drop(*columns).sortWithinPartitions(PARTITION)


def _action(file: Row, written_ms: int) -> AddAction:
    values = json.loads(file.partition_values)
    return AddAction(file.path, file.size_bytes, values, written_ms, True, file.statistics)


class StoreSink:
    """Commits to tables in an object store."""

    def last_batch(self, target: TableTarget) -> int | None:
        """The newest batch of this application that the table holds; None = none, or no table."""
        return last_transaction(target.path, target.transaction_app)

    def append(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        """Commits the frame as the batch's rows, returns their number; None = the table held the batch already.
        Raises StoreError, CommitConflictError."""
        last = self.last_batch(target)
        if last is not None and last >= stamp.batch_id:
            return None
        assert isinstance(target.path, S3Location)
        columns = partition_columns(target.path) or ()
        settings = StoreSettings.of_environment(os.environ)
        write = task_writer(settings, target.path.path, batch_folder(target, stamp))
        with store_faults(target.path, PySparkException):
            files = partitioned(frame, columns).mapInArrow(write, FILE_SCHEMA).collect()
        written_ms = time.time_ns() // 1_000_000
        return commit_files(target, [_action(file, written_ms) for file in files], stamp)
