"""The files of a table that can have rows of a range of event times, by the statistics of the table's log.

A file is left out if its range of event times, or the number of its nulls, shows that no row is of the range. A file
without statistics of the column is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.object_store.open_table import open_table

# Delta's own writer cuts the times of its statistics to milliseconds.
_CUT_US = 1_000


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Event times from `least_us` to `greatest_us`, both included, in microseconds; None = without end."""

    least_us: int
    greatest_us: int | None = None


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that have the same values of partition columns, which are not in the files; named by their paths below the
    table."""

    files: tuple[str, ...]
    values: Mapping[str, Any]


def _times_us(actions: pa.Table, name: str) -> list[int | None]:
    if name not in actions.column_names:
        return [None] * actions.num_rows
    times: list[int | None] = actions.column(name).cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    return times


def _can_have_rows(
    action: Mapping[str, Any], column: str, least_us: int | None, greatest_us: int | None, wanted: TimeRange
) -> bool:
    """True unless the file's statistics show that it has no row of the wanted range."""
    if action.get(f"null_count.{column}") is not None and action[f"null_count.{column}"] == action["num_records"]:
        return False
    if least_us is not None and wanted.greatest_us is not None and least_us > wanted.greatest_us:
        return False
    return greatest_us is None or greatest_us + _CUT_US >= wanted.least_us


def recent_files(path: TableLocation, column: str, wanted: TimeRange, keys: Sequence[str] = ()) -> list[FileGroup]:
    """The files that can have rows of the range, in groups by those of the `keys` that are partition columns."""
    table = open_table(path)
    partitioned = [name for name in table.metadata().partition_columns if name in keys]
    actions = pa.table(table.get_add_actions(flatten=True))
    leasts, greatests = _times_us(actions, f"min.{column}"), _times_us(actions, f"max.{column}")
    groups: dict[tuple[Any, ...], list[str]] = {}
    for action, least, greatest in zip(actions.to_pylist(), leasts, greatests):
        if _can_have_rows(action, column, least, greatest, wanted):
            values = tuple(action[f"partition.{name}"] for name in partitioned)
            groups.setdefault(values, []).append(unquote(action["path"]))
    return [FileGroup(tuple(files), dict(zip(partitioned, values))) for values, files in groups.items()]
