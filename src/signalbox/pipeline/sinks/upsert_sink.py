"""Upsert by the record's key: a table with the newest row of each key; a record without a value deletes its key's row.

Committed by delta-rs in both profiles: its merge carries the batch's transaction mark in the same commit, which Delta's
`MERGE` statement cannot. The rows of a batch pass through the driver, one per key. `key_order.py` decides which record
is newer, whatever order they are written in; `deleted_keys.py` keeps the positions of keys that have no row any more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from signalbox.pipeline.object_store.open_table import open_table, store_faults
from signalbox.pipeline.sinks.commit_files import commit_files, commit_properties, reject_committed
from signalbox.pipeline.sinks.commit_retry import repeat_conflicts
from signalbox.pipeline.sinks.deleted_keys import DeletedKeys
from signalbox.pipeline.sinks.delta_log import last_transaction
from signalbox.pipeline.sinks.key_order import IS_NEWER, newest_rows
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget

_COUNTS = ("num_target_rows_inserted", "num_target_rows_updated", "num_target_rows_deleted")


def _as_in_table(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with the columns and types of the table; columns that only the table has are null."""
    names = set(rows.schema.names)
    columns = [
        rows.column(field.name).cast(field.type) if field.name in names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


class UpsertSink:
    """Merges batches by key. `folder`: the state of the pipeline, where the deleted keys are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def last_batch(self, target: TableTarget) -> int | None:
        """The newest batch of this application that the table holds; None = none, or no table."""
        return last_transaction(target.path, target.transaction_app)

    def append(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        """Merges the frame as one batch, returns how many rows it inserted, updated or deleted; None = the table held
        the batch already."""
        last = self.last_batch(target)
        if last is not None and last >= stamp.batch_id:
            return None
        newest = DeletedKeys(self._folder).apply(newest_rows(frame).toArrow())
        metrics = repeat_conflicts(lambda: self._merge(newest, target, stamp))
        if self.last_batch(target) != stamp.batch_id:  # a merge that changes nothing commits nothing
            commit_files(target, [], stamp)
        return sum(int(metrics[name]) for name in _COUNTS)

    def _merge(self, newest: pa.Table, target: TableTarget, stamp: BatchStamp) -> dict[str, Any]:
        """One merge, into the newest version of the table. Raises CommitFailedError when a commit of another process
        has rewritten the same files, such as maintenance; CommitConflictError when it has committed this batch."""
        table = open_table(target.path)
        reject_committed(table, target, stamp)
        merge = table.merge(
            _as_in_table(newest, pa.schema(table.schema().to_arrow())),
            "t.key = s.key",
            source_alias="s",
            target_alias="t",
            commit_properties=commit_properties(target, stamp),
        )
        merge.when_matched_delete(f"s.value IS NULL AND {IS_NEWER}")
        merge.when_matched_update_all(f"s.value IS NOT NULL AND {IS_NEWER}")
        merge.when_not_matched_insert_all("s.value IS NOT NULL")
        with store_faults(target.path):
            return merge.execute()
