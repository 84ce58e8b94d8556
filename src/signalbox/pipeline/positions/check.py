"""Checks a table by its records' positions, without Spark and without Kafka: is each record in it once?

The marks in the tables' logs keep a batch from being written twice. They do not see what others do: a second pipeline
with the same table, rows that a job inserted, a checkpoint or a table from an older backup. This check counts topic
positions (partition and offset) in the table and in that of the rejected records, one partition after the other. The
table is read first and the rejected records after it, because a replay moves records in the other direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from signalbox.common.visible_text import without_logins
from signalbox.pipeline.checkpoint_files import batch_end, planned_batches
from signalbox.pipeline.object_store.location import S3Location, TableLocation
from signalbox.pipeline.options import OptionError, warehouse_faults
from signalbox.pipeline.positions.backfill_log import read_backfills
from signalbox.pipeline.positions.lost_records import read_gaps
from signalbox.pipeline.rejected.listing import dead_path
from signalbox.pipeline.sinks.delta_log import is_table, read_table
from signalbox.pipeline.table_state import StateError, StateFolder, TableState

SHOWN = 5  # positions in a finding


@dataclass(slots=True)
class TableCheck:
    """Counts of a check. `repeated`: positions that come more than once, in one table or in both, as {"partition",
    "offset", "rows"}: the first ones of each partition. `outside`: rows at positions that no run has read.
    `without_row`: offsets that were read and have no row: of gaps, of markers and aborted transactions, of compacted
    records; in a table with the newest row of each key also all older records. `gap_offsets`: those of noted gaps."""

    table: str
    rows: int = 0
    rejected: int = 0
    repeated_count: int = 0
    repeated: list[dict[str, int]] = field(default_factory=list)
    outside: int = 0
    without_row: int = 0
    gap_offsets: int = 0

    @property
    def findings(self) -> list[str]:
        """A sentence for each fault; empty if there is none."""
        found = []
        if self.repeated_count:
            first = [f"partition {row['partition']}, offset {row['offset']}" for row in self.repeated[:SHOWN]]
            more = " and more" if self.repeated_count > len(first) else ""
            found.append(f"{self.repeated_count:,} records are in it more than once: {'; '.join(first)}{more}")
        if self.outside:
            found.append(f"{self.outside:,} rows are at positions that no run of this table has read")
        return found


def check_table(warehouse: TableLocation, name: str, checkpoint_location: Path | None = None) -> TableCheck:
    """Checks a table; `checkpoint_location` as in its runs. Raises StateError if there is none, or no such folder was
    given for an object store, OptionError if the store's settings are wrong."""
    place = checkpoint_location or warehouse
    if isinstance(place, S3Location):
        shown = without_logins(str(place))
        raise StateError(f"warehouse is {shown}: set --checkpoint-location to the folder that the runs were given")
    if faults := warehouse_faults(warehouse):
        raise OptionError(faults)
    folder = StateFolder(place, name)
    state = folder.read()
    path, dead = warehouse / name, dead_path(warehouse, name)
    if state is None or not is_table(path):
        raise StateError(f"there is no table {name} in {warehouse}")
    check = TableCheck(name)
    tables = [path, dead] if is_table(dead) else [path]
    numbers = {number for table in tables for number in read_table(table, ["partition"]).column(0).unique().to_pylist()}
    numbers |= {int(where.rpartition(":")[2]) for where in _ends(folder)}
    for number in sorted(numbers):
        offsets = [read_table(table, ["offset"], ds.field("partition") == number).column(0) for table in tables]
        check.rows += len(offsets[0])
        check.rejected += sum(map(len, offsets[1:]))
        positions = pa.chunked_array([chunk for column in offsets for chunk in column.chunks], pa.int64())
        _count_repeats(check, number, positions)
        _compare(check, positions, _ranges(folder, state, number))
    check.gap_offsets = sum(end - first for gap in read_gaps(folder.path) for first, end in gap.ranges.values())
    return check


def _count_repeats(check: TableCheck, number: int, offsets: pa.ChunkedArray) -> None:
    counts = pa.Table.from_struct_array(pc.value_counts(offsets))
    repeated = counts.filter(pc.field("counts") > 1).sort_by("values")
    check.repeated_count += repeated.num_rows
    check.repeated += [
        {"partition": number, "offset": row["values"], "rows": row["counts"]}
        for row in repeated.slice(0, SHOWN).to_pylist()
    ]


def _compare(check: TableCheck, offsets: pa.ChunkedArray, ranges: list[tuple[int, int]]) -> None:
    """Counts the rows outside the ranges, and the offsets in the ranges without a row."""
    outside = offsets
    for start, end in ranges:
        outside = outside.filter(pc.or_(pc.less(outside, start), pc.greater_equal(outside, end)))
    check.outside += len(outside)
    there = pc.count_distinct(offsets).as_py() - pc.count_distinct(outside).as_py()
    check.without_row += sum(end - start for start, end in ranges) - there


def _ends(folder: StateFolder) -> Mapping[str, int]:
    planned = planned_batches(folder.checkpoint)
    return batch_end(folder.checkpoint, planned[-1]) if planned else {}


def _ranges(folder: StateFolder, state: TableState, number: int) -> list[tuple[int, int]]:
    """The offsets of a partition that runs have read or planned to read: of the stream, and of backfills before it."""
    where = f"{state.topic}:{number}"
    ends = _ends(folder)
    ranges = [(state.begin.get(where, 0), ends[where])] if where in ends else []
    backfills = [backfill for backfill in read_backfills(folder.path) if where in backfill.end]
    return ranges + [(backfill.start[where], backfill.end[where]) for backfill in backfills]
