"""`commit: rs`: Spark writes Parquet files, delta-rs commits them. The only committer that works without Delta's jar.

It is also the cheaper one on one machine with short triggers: a commit takes milliseconds. Files go to
`batches/<application>/<batch>/` inside the table. A run that died before its commit leaves files there that no commit
names, and the repeated batch overwrites them. Needs a file system that the driver and the executors share.

Of a partitioned table Spark writes a folder per value (`carrier=AA/`), with the characters that no folder's name may
have as `%3A`; null and the empty text are one partition, as Delta's protocol has it.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq
from deltalake.transaction import AddAction
from pyspark.sql import DataFrame

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.object_store.parquet_files import footer_statistics, statistics_text
from signalbox.pipeline.sinks.commit_files import batch_folder, commit_files
from signalbox.pipeline.sinks.delta_log import last_transaction, partition_columns
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget

_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def partition_values(folder: Path) -> dict[str, str | None]:
    """The values of partition columns in the names of a file's folders, from `day=2026-11-27/carrier=AA`."""
    pairs = (part.partition("=") for part in folder.parts)
    return {unquote(name): None if value == _NULL_PARTITION else unquote(value) for name, _, value in pairs}


def add_actions(table: Path, directory: Path) -> list[AddAction]:
    """One Delta action per non-empty Parquet file that Spark left in `directory`."""
    actions = []
    for path in sorted(directory.rglob("*.parquet")):
        statistics = footer_statistics(pq.read_metadata(path))
        if statistics["numRecords"]:
            status = path.stat()
            name = path.relative_to(table).as_posix()
            values = partition_values(path.parent.relative_to(directory))
            actions.append(
                AddAction(name, status.st_size, values, int(status.st_mtime * 1000), True, statistics_text(statistics))
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
        assert not isinstance(target.path, S3Location)
        directory = target.path / batch_folder(target, stamp)
        columns = list(partition_columns(target.path) or ())
        frame.write.mode("overwrite").parquet(str(directory), partitionBy=columns or None)
        return commit_files(target, add_actions(target.path, directory), stamp)
