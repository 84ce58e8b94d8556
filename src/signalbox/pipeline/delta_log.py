"""Reading Delta tables without Spark: through delta-rs, so that reports and checks need no JVM."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow import fs


def is_table(path: Path) -> bool:
    """Whether there is a Delta table at the path."""
    return (path / "_delta_log").is_dir() and DeltaTable.is_deltatable(str(path))


def last_transaction(path: Path, application: str) -> int | None:
    """The newest transaction version of an application in a table's log; None = none, or no table."""
    return DeltaTable(str(path)).transaction_version(application) if is_table(path) else None


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """A whole table (or some of its columns) in memory. Raises FileNotFoundError when there is none."""
    if not is_table(path):
        raise FileNotFoundError(f"there is no Delta table at {path}")
    # Arrow's own file system: with delta-rs's, written in Python, Arrow's threads may still want the interpreter when
    # it is going, and abort the process.
    files = fs.SubTreeFileSystem(str(path), fs.LocalFileSystem())
    return DeltaTable(str(path)).to_pyarrow_dataset(filesystem=files).to_table(columns=columns)


def count_rows(path: Path) -> int:
    """The rows of a table, from its log; 0 when there is no table."""
    return int(DeltaTable(str(path)).count()) if is_table(path) else 0


def rows_of_newest_commit(path: Path) -> int:
    """The rows that the newest commit added, from its log file."""
    log = path / "_delta_log" / f"{DeltaTable(str(path)).version():020d}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    return sum(json.loads(action["add"]["stats"])["numRecords"] for action in actions if "add" in action)
