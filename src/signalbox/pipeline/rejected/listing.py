"""The rejected records of a table, without Spark: counts by reason, and records with their bytes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.options import OptionError, warehouse_faults
from signalbox.pipeline.sinks.delta_log import is_table, read_table
from signalbox.pipeline.table_state import StateError


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


def read_rejected(warehouse: TableLocation, name: str) -> pa.Table:
    """All rejected records, by topic, partition and offset. Raises StateError if there is no such table,
    OptionError, StoreError."""
    faults = warehouse_faults(warehouse)
    if faults:
        raise OptionError(faults)
    path = dead_path(warehouse, name)
    if not is_table(path):
        if not is_table(warehouse / name):
            raise StateError(f"there is no table {name} in {warehouse}")
        raise StateError(f"table {name} has no rejected records: its values are raw")
    return read_table(path).sort_by([("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")])


def _kind(reason: str) -> str:
    """The reason without what differs from record to record: late rows are one reason."""
    return "late" if reason.startswith("late:") else reason


def count_reasons(rejected: pa.Table) -> list[ReasonCount]:
    """The reasons, the most frequent first."""
    counts: dict[str, int] = {}
    firsts: dict[str, tuple[str, int, int]] = {}
    columns = (rejected.column(name).to_pylist() for name in ("reason", "topic", "partition", "offset"))
    for reason, topic, partition, offset in zip(*columns):
        kind = _kind(reason)
        counts[kind] = counts.get(kind, 0) + 1
        firsts.setdefault(kind, (topic, partition, offset))
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
    rejected: pa.Table, limit: int, *, partition: int | None = None, offset: int | None = None
) -> list[dict[str, Any]]:
    """Up to `limit` records as plain JSON values, of one partition or one offset if they are given."""
    rows: list[dict[str, Any]] = []
    for batch in rejected.to_batches(max_chunksize=1000):
        for row in batch.to_pylist():
            if partition not in (None, row["partition"]) or offset not in (None, row["offset"]):
                continue
            if len(rows) == limit:
                return rows
            headers = [{"key": h["key"], "value": readable(h["value"])} for h in row["headers"] or ()]
            rows.append(
                {
                    **{name: row[name] for name in ("topic", "partition", "offset", "reason")},
                    "timestamp": row["timestamp"].isoformat() if row["timestamp"] else None,
                    "key": readable(row["key"]),
                    "value": readable(row["value"]),
                    "headers": headers,
                }
            )
    return rows
