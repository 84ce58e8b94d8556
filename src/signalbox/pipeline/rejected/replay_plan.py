"""The plan of a replay, stored before anything is written: it makes a replay that was killed complete or void.

A replay writes two tables: it adds rows to the table, then takes their records out of the rejected ones. The first
commit carries the plan's number as Delta's `txn` mark. A later replay finds the plan: if the table has the mark, the
rows are there and only the records remain to be taken out; if not, nothing was written and the plan is dropped.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from signalbox.common.durable_file import replace_durably
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.object_store.open_table import open_table, store_faults
from signalbox.pipeline.rejected.listing import POSITION
from signalbox.pipeline.sinks.commit_retry import repeated_on_conflict
from signalbox.pipeline.table_state import read_state_file

_FILE = "replay.json"
Position = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """`number`: the version of the mark. `positions`: topic, partition and offset of the records that become rows."""

    number: int
    positions: tuple[Position, ...]


def write_plan(folder: Path, plan: ReplayPlan) -> None:
    """Stores the plan, atomically and on disk."""
    positions = [list(position) for position in plan.positions]
    replace_durably(folder / _FILE, json.dumps({"number": plan.number, "positions": positions}))


def read_plan(folder: Path) -> ReplayPlan | None:
    """The plan of a replay that has not ended; None = there is none. Raises StateError if the file is corrupt."""
    path = folder / _FILE
    if not path.is_file():
        return None
    content: dict[str, Any] = read_state_file(path)
    return ReplayPlan(content["number"], tuple((topic, part, offset) for topic, part, offset in content["positions"]))


def drop_plan(folder: Path) -> None:
    """Removes the plan: the replay has ended."""
    (folder / _FILE).unlink(missing_ok=True)


def positions_of(table: pa.Table | pa.RecordBatch) -> tuple[Position, ...]:
    """The positions of records."""
    return tuple(zip(*(table.column(name).to_pylist() for name in POSITION)))


@repeated_on_conflict
def take_out(path: TableLocation, positions: tuple[Position, ...]) -> int:
    """Removes the records at these positions from the table of rejected records, in one commit, and returns how many
    they were; 0 and no commit if none of them is there. Files without such a record are not rewritten."""
    gone = pa.Table.from_arrays([pa.array(column) for column in zip(*positions)], names=list(POSITION))
    merge = open_table(path).merge(
        gone,
        " AND ".join(f"t.{name} = s.{name}" for name in POSITION),
        source_alias="s",
        target_alias="t",
        streamed_exec=False,  # the offsets of `gone` are known, so that files without them are not read
    )
    with store_faults(path):
        return int(merge.when_matched_delete().execute()["num_target_rows_deleted"])
