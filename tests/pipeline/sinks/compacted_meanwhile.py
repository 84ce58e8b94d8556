"""A write of delta-rs during which another process compacts the table, as `signalbox pipeline maintain` does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

_COMPACT = "import sys; from deltalake import DeltaTable; DeltaTable(sys.argv[1]).optimize.compact()"


def compact(path: Path) -> None:
    """Compacts the table in a process of its own: delta-rs cannot be called while it reads the rows of a write."""
    subprocess.run([sys.executable, "-c", _COMPACT, str(path)], check=True, timeout=60)


def write_compacted_meanwhile(path: Path, compactions: list[Path]) -> Callable[..., None]:
    """`write_deltalake`, whose first call compacts the table after it was opened. Adds the table to `compactions`."""

    def rows_and_compaction(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        yield from reader
        if not compactions:
            compactions.append(path)
            compact(path)

    def write(table: Any, data: pa.Table | pa.RecordBatchReader, **options: Any) -> None:
        reader = data.to_reader() if isinstance(data, pa.Table) else data
        rows = pa.RecordBatchReader.from_batches(reader.schema, rows_and_compaction(reader))
        write_deltalake(table, rows, **options)

    return write
