"""The least and the greatest value of a column of a Parquet file, as Delta's statistics have them.

Delta's timestamps there have milliseconds. The least is rounded down and the greatest up, so that the range holds every
microsecond of the file, however a reader understands it. Times outside of the years 1 to 9999 have no text, and
infinity and NaN are no numbers of JSON: a column that has one gets no range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow.parquet as pq

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
TIME_TYPES = ("TIMESTAMP_MICROS", "DATE")


def column_range(column: pq.ColumnSchema, chunks: Sequence[pq.Statistics]) -> tuple[Any, Any] | None:
    """The range of a column of numbers, times or dates from those of its row groups; None = it has none, since there is
    no value, or one that is no finite number."""
    ranged = [chunk for chunk in chunks if chunk.has_min_max]
    if ranged and column.converted_type in TIME_TYPES:
        return time_range(column.converted_type, [(chunk.min_raw, chunk.max_raw) for chunk in ranged])
    ends = [end for chunk in ranged for end in (chunk.min, chunk.max)]
    if not ends or any(isinstance(end, float) and not math.isfinite(end) for end in ends):
        return None
    return min(ends), max(ends)


def time_range(converted_type: str, ends: Sequence[tuple[int, int]]) -> tuple[str, str] | None:
    """The range of a column from those of its row groups, as Parquet stores them: microseconds, or days, since 1970."""
    low, high = min(least for least, _ in ends), max(greatest for _, greatest in ends)
    try:
        if converted_type == "DATE":
            return _day(low), _day(high)
        return _milliseconds(low // 1_000), _milliseconds(-(-high // 1_000))
    except (OverflowError, ValueError):
        return None


def _day(days: int) -> str:
    return (_FIRST_DAY + timedelta(days=days)).isoformat()


def _milliseconds(milliseconds: int) -> str:
    text = (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
