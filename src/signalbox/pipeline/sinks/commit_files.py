"""Commits Parquet files as one batch of a Delta table, by delta-rs: the part that folders and object stores share.

A commit creates the next file of the table's log and fails if that file exists. Then delta-rs compares the two commits
and repeats its own behind the other, unless both carry the same transaction mark: so a batch is in the table once, even
if two processes commit it at the same time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction

from signalbox.pipeline.object_store.open_table import open_table, store_faults
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget


class CommitConflictError(RuntimeError):
    """Another process committed the same batch meanwhile."""


def batch_folder(target: TableTarget, stamp: BatchStamp) -> str:
    """The folder of a batch's files, below the table."""
    application = hashlib.sha256(target.transaction_app.encode()).hexdigest()[:8]
    return f"batches/{application}/{stamp.batch_id:012d}"


def commit_properties(target: TableTarget, stamp: BatchStamp) -> CommitProperties:
    """The mark of the batch, and what the commit says of it."""
    return CommitProperties(
        custom_metadata={"userMetadata": stamp.metadata()},
        app_transactions=[Transaction(target.transaction_app, stamp.batch_id)],
    )


def reject_committed(table: DeltaTable, target: TableTarget, stamp: BatchStamp) -> None:
    """Raises CommitConflictError if the table holds the batch."""
    last = table.transaction_version(target.transaction_app)
    if last is not None and last >= stamp.batch_id:
        raise CommitConflictError(
            f"table {target.name}: another process has committed batch {stamp.batch_id} meanwhile: end one of the two"
        )


def commit_files(target: TableTarget, actions: Sequence[AddAction], stamp: BatchStamp) -> int:
    """Commits the files as the batch's rows, returns their number. Raises CommitConflictError."""
    table = open_table(target.path)  # its newest version: a maintenance may have committed meanwhile
    reject_committed(table, target, stamp)
    columns = table.metadata().partition_columns
    try:
        with store_faults(target.path):
            table.create_write_transaction(
                list(actions),
                "append",
                table.schema(),
                partition_by=columns or None,
                commit_properties=commit_properties(target, stamp),
            )
    except CommitFailedError:
        reject_committed(open_table(target.path), target, stamp)
        raise
    return sum(int(json.loads(action.stats)["numRecords"]) for action in actions)
