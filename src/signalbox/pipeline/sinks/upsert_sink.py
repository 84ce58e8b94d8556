"""Upsert by the record's key: a table with the newest row of each key; a record without a value deletes its key's row.

Committed by delta-rs in both profiles: its merge carries the batch's transaction mark in the same commit, which Delta's
`MERGE` statement cannot. The rows of a batch pass through the driver, one per key. `key_order.py` decides which record
is newer, whatever order they are written in; `deleted_keys.py` keeps the positions of keys that have no row any more.
"""

from __future__ import annotations

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from pyspark.sql import DataFrame

from signalbox.pipeline.sinks.commit_retry import repeated_on_conflict
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
    """Merges batches by key."""

    def last_batch(self, target: TableTarget) -> int | None:
        """The newest batch of this application that the table holds; None = none, or no table."""
        return last_transaction(target.path, target.transaction_app)

    def append(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        """Merges the frame as one batch, returns how many rows it inserted, updated or deleted; None = the table held
        the batch already."""
        last = self.last_batch(target)
        if last is not None and last >= stamp.batch_id:
            return None
        return self._merge(DeletedKeys(target.path).apply(newest_rows(frame).toArrow()), target, stamp)

    @repeated_on_conflict
    def _merge(self, newest: pa.Table, target: TableTarget, stamp: BatchStamp) -> int:
        table = DeltaTable(str(target.path))  # its newest version: a maintenance may have committed meanwhile
        rows = _as_in_table(newest, pa.schema(table.schema().to_arrow()))
        properties = CommitProperties(
            custom_metadata={"userMetadata": stamp.metadata()},
            app_transactions=[Transaction(target.transaction_app, stamp.batch_id)],
        )
        metrics = (
            table.merge(rows, "t.key = s.key", source_alias="s", target_alias="t", commit_properties=properties)
            .when_matched_delete(f"s.value IS NULL AND {IS_NEWER}")
            .when_matched_update_all(f"s.value IS NOT NULL AND {IS_NEWER}")
            .when_not_matched_insert_all("s.value IS NOT NULL")
            .execute()
        )
        if self.last_batch(target) != stamp.batch_id:  # a merge that changes nothing commits nothing
            table = DeltaTable(str(target.path))
            table.create_write_transaction([], "append", table.schema(), commit_properties=properties)
        return sum(int(metrics[name]) for name in _COUNTS)
