"""Ranges of the columns of a table's files, in the log: with them readers leave out files that cannot have a row.

Files that delta-rs and Delta's own sink write come with them. Files that Spark wrote and delta-rs only committed
(`sink_rs.py`) have those of their Parquet footers; `complete_statistics` adds what an earlier program left out, and
reads footers only. The protocol has a place for it: a file is added once more, with the same data and other statistics.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.transaction import AddAction

from signalbox.pipeline.object_store.parquet_files import footer_statistics, statistics_text
from signalbox.pipeline.sinks.commit_retry import ALONE, repeated_on_conflict
from signalbox.pipeline.sinks.sink_rs import partition_values

_RANGED = {"byte", "short", "integer", "long", "double", "date", "timestamp"}


@repeated_on_conflict
def complete_statistics(path: Path) -> int:
    """Adds missing ranges to the log, in one commit; returns the number of files that got some."""
    table = DeltaTable(str(path))
    columns = [field["name"] for field in json.loads(table.schema().to_json())["fields"] if _is_ranged(field["type"])]
    files = pa.table(table.get_add_actions()).to_pylist()
    actions = []
    for file in files:
        gaps = _gaps(file, columns) if file["path"].startswith("batches/") else set()
        name = unquote(file["path"])  # as the file is called; `AddAction` quotes it again
        if not gaps or not gaps & (statistics := footer_statistics(pq.read_metadata(path / name)))["maxValues"].keys():
            continue
        folder = Path(*Path(name).parent.parts[3:])  # behind batches/<application>/<batch>
        modified = int(file["modification_time"])
        actions.append(
            AddAction(name, file["size_bytes"], partition_values(folder), modified, False, statistics_text(statistics))
        )
    if actions:
        partition_by = table.metadata().partition_columns
        table.create_write_transaction(
            list(actions), "append", table.schema(), partition_by=partition_by or None, commit_properties=ALONE
        )
    return len(actions)


def _is_ranged(delta_type: str | dict[str, Any]) -> bool:
    """Whether readers leave files out by this type; a struct, an array and a map are objects in the schema."""
    return isinstance(delta_type, str) and delta_type in _RANGED


def _gaps(file: dict[str, Any], columns: list[str]) -> set[str]:
    """The columns that have values in the file, but no range in the log."""
    highs, nulls = file.get("max") or {}, file.get("null_count") or {}
    partitions = file.get("partition") or {}
    return {
        column
        for column in columns
        if column not in partitions and highs.get(column) is None and nulls.get(column) != file["num_records"]
    }
