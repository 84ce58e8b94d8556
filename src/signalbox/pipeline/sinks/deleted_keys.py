"""The positions of the tombstones that deleted keys of a table with upserts: a Delta table in the pipeline's state.

A deleted key has no row any more, so nothing in the table itself shows that a record of another partition, read later,
is older than the deletion. Without these positions such a record would bring the key back.

The positions are written before the batch is merged. A batch that is repeated after a crash finds its own tombstones,
keeps them and writes the same again: this table needs no mark of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyarrow import fs

from signalbox.pipeline.sinks.commit_retry import repeated_on_conflict
from signalbox.pipeline.sinks.delta_log import ensure_table, is_table
from signalbox.pipeline.sinks.key_order import RecordPosition, is_newer, positions_of

_TYPES = {"key": "binary", "partition": "integer", "offset": "long", "timestamp": "timestamp"}
_SCHEMA: dict[str, Any] = {
    "type": "struct",
    "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _TYPES.items()],
}
_COLUMNS = {name: f"s.{name}" for name in _TYPES}


def deleted_keys_path(folder: Path) -> Path:
    """Where the deleted keys of a pipeline are, below the folder of its state."""
    return folder / "deleted_keys"


class DeletedKeys:
    """The deleted keys of the pipeline whose state is in `folder`. Without a deletion there is no such table."""

    def __init__(self, folder: Path) -> None:
        self._path = deleted_keys_path(folder)

    def apply(self, rows: pa.Table) -> pa.Table:
        """The rows without those that are older than the deletion of their key; notes the deletions among them, and
        forgets those of keys that have a newer row. `rows`: the newest row of each key; a deletion has no value."""
        earlier = self._deletions_of(rows.column("key"))
        if earlier:
            positions = positions_of(rows)
            kept = [key not in earlier or not is_newer(earlier[key], positions[key]) for key in positions]
            rows = rows.filter(pa.array(kept, pa.bool_()))
        deleted = pc.is_null(rows.column("value"))
        if earlier or pc.any(deleted).as_py():
            self._note(rows.select(list(_TYPES)).append_column("deleted", deleted))
        return rows

    def _deletions_of(self, keys: pa.ChunkedArray) -> dict[bytes, RecordPosition]:
        if not is_table(self._path):
            return {}
        files = fs.SubTreeFileSystem(str(self._path), fs.LocalFileSystem())
        deletions = DeltaTable(str(self._path)).to_pyarrow_dataset(filesystem=files)
        found: dict[bytes, RecordPosition] = {}
        for batch in deletions.to_batches():  # a few at a time: more keys may be deleted than fit in memory
            part = pa.Table.from_batches([batch])
            there = pc.is_in(part.column("key").cast(pa.binary()), value_set=keys.cast(pa.binary()))
            found |= positions_of(part.filter(there))
        return found

    @repeated_on_conflict
    def _note(self, rows: pa.Table) -> None:
        ensure_table(self._path, _SCHEMA)
        (
            DeltaTable(str(self._path))
            .merge(rows, "t.key = s.key", source_alias="s", target_alias="t")
            .when_matched_update(_COLUMNS, "s.deleted")
            .when_matched_delete("NOT s.deleted")
            .when_not_matched_insert(_COLUMNS, "s.deleted")
            .execute()
        )
