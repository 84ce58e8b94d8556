"""The rejected records of a table, without Spark: counts by reason, and records with their bytes.

They are read in parts: there may be more of them than fit in memory.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake.exceptions import DeltaError

from signalbox.common.visible_text import one_line
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.object_store.open_table import file_system, open_table, store_faults
from signalbox.pipeline.options import OptionError, warehouse_faults
from signalbox.pipeline.sinks.delta_log import is_table
from signalbox.pipeline.table_state import StateError

POSITION = ("topic", "partition", "offset")
_POSITIONS_READ = 100_000  # rows that are read at a time without their bytes
_RECORDS_READ = 100  # and with them, at most
_BYTES_READ = 8 * 1024 * 1024  # of the records that are read at a time; one record may have more
_BYTES_SHOWN = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonCount:
    """How many records have a reason, and the first of them by topic, partition and offset."""

    reason: str
    records: int
    topic: str
    partition: int
    offset: int


def dead_path(warehouse: TableLocation, name: str) -> TableLocation:
    """The table of a table's rejected records."""
    return warehouse / f"{name}_dead"


class RejectedRecords:
    """The rejected records of a table, as they are when this is made.

    Raises StateError if there is no such table, OptionError, StoreError.
    """

    def __init__(self, warehouse: TableLocation, name: str) -> None:
        faults = warehouse_faults(warehouse)
        if faults:
            raise OptionError(faults)
        self.path = dead_path(warehouse, name)
        if not is_table(self.path):
            if not is_table(warehouse / name):
                raise StateError(f"there is no table {name} in {warehouse}")
            raise StateError(f"table {name} has no rejected records: its values are raw")
        with _read_faults(self.path):
            self._rows = open_table(self.path).to_pyarrow_dataset(filesystem=file_system(self.path))

    def count(self) -> int:
        """How many they are. Raises StateError if a file cannot be read."""
        with _read_faults(self.path):
            return int(self._rows.count_rows())

    def row_bytes(self) -> int:
        """Bytes of a record, not compressed, on average."""
        with _read_faults(self.path):
            sizes = [_size(fragment) for fragment in self._rows.get_fragments()]
        return sum(size for size, _ in sizes) // max(1, sum(rows for _, rows in sizes))

    def records(self, rows: ds.Expression | None = None) -> Iterator[pa.RecordBatch]:
        """All columns, in no order, a part at a time. Raises StateError if a file cannot be read, StoreError."""
        with _read_faults(self.path):
            for fragment in self._rows.get_fragments(rows):
                size, count = _size(fragment)
                at_a_time = max(1, min(_RECORDS_READ, _BYTES_READ * count // max(1, size)))
                options = _scan(None, rows, at_a_time)
                yield from ds.Scanner.from_fragment(fragment, schema=self._rows.schema, **options).to_batches()

    def positions(self, rows: ds.Expression | None = None) -> Iterator[pa.RecordBatch]:
        """The positions, in no order, a part at a time. Raises StateError if a file cannot be read, StoreError."""
        with _read_faults(self.path):
            yield from self._rows.scanner(**_scan(POSITION, rows, _POSITIONS_READ)).to_batches()

    def reasons(self) -> Iterator[pa.RecordBatch]:
        """The reasons and positions, in no order, a part at a time. Raises as `positions`."""
        with _read_faults(self.path):
            yield from self._rows.scanner(**_scan(("reason", *POSITION), None, _POSITIONS_READ)).to_batches()


def _scan(columns: Sequence[str] | None, rows: ds.Expression | None, at_a_time: int) -> dict[str, Any]:
    return {
        "columns": None if columns is None else list(columns),
        "filter": rows,
        "batch_size": at_a_time,
        "batch_readahead": 1,
        "fragment_readahead": 1,
    }


def _size(fragment: Any) -> tuple[int, int]:
    """The bytes and rows of a Parquet file, from its end."""
    groups = [fragment.metadata.row_group(number) for number in range(fragment.metadata.num_row_groups)]
    return sum(group.total_byte_size for group in groups), fragment.metadata.num_rows


@contextmanager
def _read_faults(path: TableLocation) -> Iterator[None]:
    try:
        with store_faults(path):
            yield
    except (OSError, pa.ArrowException, DeltaError) as error:
        raise StateError(f"the rejected records in {path} cannot be read: {one_line(str(error))}") from error


def parts_of(batches: Iterator[pa.RecordBatch], most_bytes: int) -> Iterator[pa.Table]:
    """The batches as tables of about `most_bytes`; the last batch of one may exceed it."""
    gathered: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        gathered.append(batch)
        size += batch.nbytes
        if size >= most_bytes:
            yield _copied(gathered)
            gathered, size = [], 0
    if any(batch.num_rows for batch in gathered):
        yield _copied(gathered)


def _copied(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """The batches in memory of their own: they are slices of what was read, and Spark takes no slices of lists."""
    table = pa.Table.from_batches(batches)
    return table.take(pa.array(range(table.num_rows)))


def _kind(reason: str) -> str:
    """The reason without what differs from record to record: late rows are one reason."""
    return "late" if reason.startswith("late:") else reason


def count_reasons(rejected: RejectedRecords) -> list[ReasonCount]:
    """The reasons, the most frequent first."""
    counts: dict[str, int] = {}
    firsts: dict[str, tuple[str, int, int]] = {}
    for part in rejected.reasons():
        positions = zip(*(part.column(name).to_pylist() for name in POSITION))
        for reason, position in zip(part.column("reason").to_pylist(), positions):
            kind = _kind(reason)
            counts[kind] = counts.get(kind, 0) + 1
            firsts[kind] = min(firsts.get(kind, position), position)
    order = sorted(counts, key=lambda reason: (-counts[reason], reason))
    return [
        ReasonCount(
            reason=reason,
            records=counts[reason],
            topic=firsts[reason][0],
            partition=firsts[reason][1],
            offset=firsts[reason][2],
        )
        for reason in order
    ]


def readable(data: bytes | None) -> Mapping[str, str] | None:
    """Bytes for a person: as text if they are UTF-8, else in base64."""
    if data is None:
        return None
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def shown(
    rejected: RejectedRecords, limit: int, *, partition: int | None = None, offset: int | None = None
) -> Iterator[dict[str, Any]]:
    """Up to `limit` records as plain JSON values, by topic, partition and offset; of one partition or one offset if
    they are given. Raises StoreError."""
    wanted = {"partition": partition, "offset": offset}
    conditions = [pc.field(name) == value for name, value in wanted.items() if value is not None]
    positions = _first(rejected.positions(_all_of(conditions)), limit)
    at_a_time = max(1, min(10_000, _BYTES_SHOWN // max(1, rejected.row_bytes())))
    for start in range(0, len(positions), at_a_time):
        yield from map(_as_json, _rows_at(rejected, positions.slice(start, at_a_time)))


def _first(batches: Iterator[pa.RecordBatch], limit: int) -> pa.Table:
    """The first `limit` positions, in order."""
    order = [(name, "ascending") for name in POSITION]
    gathered: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        gathered.append(batch)
        rows += batch.num_rows
        if rows > 2 * limit + _POSITIONS_READ:
            gathered = pa.Table.from_batches(gathered).sort_by(order).slice(0, limit).to_batches()
            rows = limit
    return pa.Table.from_batches(gathered).sort_by(order).slice(0, limit) if gathered else pa.table({})


def _rows_at(rejected: RejectedRecords, positions: pa.Table) -> list[dict[str, Any]]:
    """The records at positions, in their order. Files without an offset between the least and the greatest one are not
    read."""
    offsets = positions.column("offset")
    ends = pc.min_max(offsets).as_py()
    conditions = [
        pc.field("offset") >= ends["min"],
        pc.field("offset") <= ends["max"],
        pc.field("offset").isin(offsets.combine_chunks()),
    ]
    there = set(zip(*(positions.column(name).to_pylist() for name in POSITION)))
    rows = [
        row
        for part in rejected.records(_all_of(conditions))
        for row in part.to_pylist()
        if tuple(row[name] for name in POSITION) in there
    ]
    return sorted(rows, key=lambda row: tuple(row[name] for name in POSITION))


def _all_of(conditions: Sequence[ds.Expression]) -> ds.Expression | None:
    found: ds.Expression | None = None
    for condition in conditions:
        found = condition if found is None else found & condition
    return found


def _as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: row[name] for name in (*POSITION, "reason")},
        "timestamp": row["timestamp"].isoformat() if row["timestamp"] else None,
        "key": readable(row["key"]),
        "value": readable(row["value"]),
        "headers": [{"key": header["key"], "value": readable(header["value"])} for header in row["headers"] or ()],
    }
