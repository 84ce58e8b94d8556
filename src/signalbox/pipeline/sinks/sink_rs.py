"""`commit: rs`: Spark writes Parquet files, delta-rs commits them. The only committer that works without Delta's jar.

It is also the cheaper one on one machine with short triggers: a commit takes milliseconds. Files go to
`batches/<application>/<batch>/` inside the table. A run that died before its commit leaves files there that no commit
names, and the repeated batch overwrites them. Needs a file system that the driver and the executors share.

Of a partitioned table Spark writes a folder per value (`carrier=AA/`), with the characters that no folder's name may
have as `%3A`; null and the empty text are one partition, as Delta's protocol has it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction
from pyspark.sql import DataFrame

from signalbox.pipeline.sinks.column_ranges import TIME_TYPES, column_range
from signalbox.pipeline.sinks.delta_log import last_transaction, partition_columns
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget

# Column types by whose range readers skip files: numbers, and times in microseconds (INT64). Ranges of long texts and
# bytes would only make the log larger.
_RANGED_TYPES = {"INT32", "INT64", "DOUBLE"}
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def file_statistics(path: Path) -> dict[str, Any]:
    """Delta's per-file statistics from a Parquet footer: rows, and ranges and nulls of top-level numbers and times."""
    footer = pq.read_metadata(path)
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


def partition_values(folder: Path) -> dict[str, str | None]:
    """The values of partition columns in the names of a file's folders, from `day=2026-11-27/carrier=AA`."""
    pairs = (part.partition("=") for part in folder.parts)
    return {unquote(name): None if value == _NULL_PARTITION else unquote(value) for name, _, value in pairs}


def add_actions(table: Path, directory: Path) -> list[AddAction]:
    """One Delta action per non-empty Parquet file that Spark left in `directory`."""
    actions = []
    for path in sorted(directory.rglob("*.parquet")):
        statistics = file_statistics(path)
        if statistics["numRecords"]:
            status = path.stat()
            name = path.relative_to(table).as_posix()
            values = partition_values(path.parent.relative_to(directory))
            actions.append(
                AddAction(name, status.st_size, values, int(status.st_mtime * 1000), True, json.dumps(statistics))
            )
    return actions


class RsSink:
    """Commits through delta-rs."""

    def last_batch(self, target: TableTarget) -> int | None:
        """The newest batch of this application that the table holds; None = none, or no table."""
        return last_transaction(target.path, target.transaction_app)

    def append(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        """Commits the frame as the batch's rows, returns their number; None = the table held the batch already."""
        last = self.last_batch(target)
        if last is not None and last >= stamp.batch_id:
            return None
        application = hashlib.sha256(target.transaction_app.encode()).hexdigest()[:8]
        directory = target.path / "batches" / application / f"{stamp.batch_id:012d}"
        columns = list(partition_columns(target.path) or ())
        frame.write.mode("overwrite").parquet(str(directory), partitionBy=columns or None)
        table = DeltaTable(str(target.path))  # its newest version: a maintenance may have committed meanwhile
        properties = CommitProperties(
            custom_metadata={"userMetadata": stamp.metadata()},
            app_transactions=[Transaction(target.transaction_app, stamp.batch_id)],
        )
        actions = add_actions(target.path, directory)
        table.create_write_transaction(
            list(actions), "append", table.schema(), partition_by=columns or None, commit_properties=properties
        )
        return sum(int(json.loads(action.stats)["numRecords"]) for action in actions)
