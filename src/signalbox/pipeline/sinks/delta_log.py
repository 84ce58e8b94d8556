"""Delta tables without Spark: created, inspected and read through delta-rs, so that reports and checks need no JVM.

The tables of all committers are created here: reader version 1, writer version 2, which every reader supports.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, Schema, write_deltalake
from deltalake.exceptions import DeltaError
from deltalake.schema import Field

from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.object_store.open_table import (
    file_system,
    open_table,
    storage_options,
    store_faults,
    table_exists,
)
from signalbox.pipeline.schema_gate import added_columns, widened_columns
from signalbox.pipeline.sinks.commit_retry import ALONE, repeated_on_conflict


def is_table(path: TableLocation) -> bool:
    """True if there is a Delta table at the path."""
    return table_exists(path)


def partition_columns(path: TableLocation) -> tuple[str, ...] | None:
    """The columns by which a table is partitioned; None = no table."""
    return tuple(open_table(path).metadata().partition_columns) if is_table(path) else None


@repeated_on_conflict
def ensure_table(
    path: TableLocation,
    schema: Mapping[str, Any],
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> None:
    """Creates the table, adds the columns that it lacks and widens types; every column nullable.

    `schema` is a struct type in the JSON form that Spark and Delta share. Raises SchemaBreakError when a type of the
    table would change otherwise. `partition_by`, `properties`: partition columns and Delta properties of a new table.
    """
    nullable_schema = {**schema, "fields": [{**field, "nullable": True} for field in schema["fields"]]}
    if not is_table(path):
        columns = Schema.from_json(json.dumps(nullable_schema))
        with store_faults(path):
            DeltaTable.create(
                str(path),
                columns,
                mode="ignore",
                partition_by=list(partition_by) or None,
                configuration=dict(properties) if properties else None,
                storage_options=storage_options(path),
                raise_if_key_not_exists=False,
            )
        return
    table = open_table(path)
    existing = json.loads(table.schema().to_json())
    widened = widened_columns(existing, nullable_schema)
    existing = {**existing, "fields": widened} if widened else existing
    added = added_columns(existing, nullable_schema, path.name)
    if widened:
        _rewrite(table, path, existing)
        table = open_table(path)
    if added:
        table.alter.add_columns([Field.from_json(json.dumps(field)) for field in added])


def _rewrite(table: DeltaTable, path: TableLocation, schema: Mapping[str, Any]) -> None:
    """Rewrites the files of a table with wider types, in one commit. Delta's type widening needs a reader version
    that most readers lack; the rewrite keeps the table readable by all, and reads and writes it once."""
    arrow_schema = pa.schema(Schema.from_json(json.dumps(schema)).to_arrow())
    batches = table.to_pyarrow_dataset(filesystem=file_system(path)).to_batches()
    rows = (cast for batch in batches for cast in pa.Table.from_batches([batch]).cast(arrow_schema).to_batches())
    reader = pa.RecordBatchReader.from_batches(arrow_schema, rows)
    partitions = table.metadata().partition_columns
    write_deltalake(
        table,
        reader,
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=partitions or None,
        commit_properties=ALONE,
    )


def last_transaction(path: TableLocation, application: str) -> int | None:
    """The newest transaction version of an application in a table's log; None = none, or no table."""
    return open_table(path).transaction_version(application) if is_table(path) else None


def read_table(path: TableLocation, columns: list[str] | None = None, rows: ds.Expression | None = None) -> pa.Table:
    """A whole table (or some of its columns, or of its rows) in memory. Raises FileNotFoundError when there is none."""
    if not is_table(path):
        raise FileNotFoundError(f"there is no Delta table at {path}")
    with store_faults(path):
        dataset = open_table(path).to_pyarrow_dataset(filesystem=file_system(path))
        return dataset.to_table(columns=columns, filter=rows)


def read_version(path: TableLocation, version: int) -> pa.Table:
    """A table as it was at a version; as it is now if it never had it, or if the version's files are gone. Raises
    FileNotFoundError when there is no table."""
    if not is_table(path):
        raise FileNotFoundError(f"there is no Delta table at {path}")
    table = open_table(path)
    try:
        table.load_as_version(version)
        return table.to_pyarrow_dataset(filesystem=file_system(path)).to_table()
    except (DeltaError, OSError):
        return read_table(path)


def newest_version(path: TableLocation) -> int:
    """The number of the newest version of a table; -1 = no table."""
    return open_table(path).version() if is_table(path) else -1


def count_rows(path: TableLocation) -> int:
    """The rows of a table, from its log; 0 when there is no table."""
    return int(open_table(path).count()) if is_table(path) else 0


def rows_up_to(path: TableLocation, application: str, transaction: int | None) -> int:
    """The rows of the newest version of a table that no later transaction of the application has changed; 0 when there
    is no table. `transaction`: None is before the first one."""
    if not is_table(path):
        return 0
    with store_faults(path):
        table = open_table(path)
        while (newest := table.transaction_version(application)) is not None:
            if transaction is not None and newest <= transaction:
                break
            table.load_as_version(table.version() - 1)
        return int(table.count())


def rows_of_transaction(path: Path, application: str, number: int, behind: int) -> int:
    """The rows that the commit with a transaction's mark added, from its log file, which is behind a version: other
    commits, a compaction for example, may lie before and after it. Raises FileNotFoundError if no log has the mark."""
    for version in range(behind + 1, newest_version(path) + 1):
        log = path / "_delta_log" / f"{version:020d}.json"
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        marks = [(action["txn"]["appId"], action["txn"]["version"]) for action in actions if "txn" in action]
        if (application, number) in marks:
            return sum(json.loads(action["add"]["stats"])["numRecords"] for action in actions if "add" in action)
    raise FileNotFoundError(f"the log of table {path} has no commit of {application}, batch {number}")


@repeated_on_conflict
def replace_table(path: TableLocation, content: pa.Table) -> None:
    """Replaces the whole table by the content, in one commit; for tables that fit in memory."""
    with store_faults(path):
        write_deltalake(
            str(path),
            content,
            mode="overwrite",
            schema_mode="overwrite",
            commit_properties=ALONE,
            storage_options=storage_options(path),
        )


class TableFiles:
    """The Parquet files of a table at its newest version, named by their paths below the table."""

    def __init__(self, path: TableLocation) -> None:
        self._path = path
        self._table = open_table(path)
        self.version = self._table.version()
        self.table_id = str(self._table.metadata().id)

    @property
    def rows(self) -> int:
        """The number of rows in that version."""
        return int(self._table.count())

    def last_transaction(self, application: str) -> int | None:
        """The newest transaction of an application in that version; None: there is none."""
        return self._table.transaction_version(application)

    def all(self) -> list[str]:
        """The files that make up the table."""
        return [unquote(file["path"]) for file in pa.table(self._table.get_add_actions()).to_pylist()]

    def added_since(self, version: int) -> list[str] | None:
        """The files with the rows that were added after a version. None: rows were removed, or the log or the files
        do not go back so far. Files that maintenance has rewritten stay in the folder until they are vacuumed."""
        if version > self.version:
            return None
        added: list[str] = []
        with store_faults(self._path):
            files = file_system(self._path)
            for number in range(version + 1, self.version + 1):
                try:
                    with files.open_input_stream(f"_delta_log/{number:020d}.json") as log:
                        actions = [json.loads(line) for line in log.read().splitlines()]
                except FileNotFoundError:
                    return None
                if any(action["remove"]["dataChange"] for action in actions if "remove" in action):
                    return None
                changes = [action["add"] for action in actions if "add" in action and action["add"]["dataChange"]]
                added += [unquote(change["path"]) for change in changes]
            there = all(info.is_file for info in files.get_file_info(added))
        return added if there else None
