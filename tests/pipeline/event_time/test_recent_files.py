"""Only those files of a table are read that can have rows of the range."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from signalbox.pipeline.event_time.recent_files import TimeRange, recent_files

pytestmark = pytest.mark.spec("P8")
MINUTE_US = 60_000_000


def rows(*minutes: float | None, kind: str | None = "a b", at: str = "at") -> pa.Table:
    times = [
        None if minute is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minute) for minute in minutes
    ]
    column = pa.array(times, pa.timestamp("us", tz="UTC"))
    return pa.table({at: column, "kind": pa.array([kind] * len(times), pa.string())})


def first_minutes(path: Path, wanted: TimeRange) -> list[float]:
    files = [file for group in recent_files(path, "at", wanted) for file in group.files]
    return sorted(pq.read_table(path / file).column("at")[0].as_py().timestamp() / 60 for file in files)


def test_files_are_chosen_by_their_ranges(tmp_path: Path) -> None:
    for content in (rows(1, 5), rows(10, None, 20), rows(30, 40), rows(None, None)):
        write_deltalake(tmp_path, content, mode="append")
    assert first_minutes(tmp_path, TimeRange(20 * MINUTE_US)) == [10, 30]
    assert first_minutes(tmp_path, TimeRange(41 * MINUTE_US)) == []
    assert first_minutes(tmp_path, TimeRange(0, 29 * MINUTE_US)) == [1, 10]
    # Statistics may be cut to milliseconds: a file that ends less than one before the range is read.
    assert first_minutes(tmp_path, TimeRange(40 * MINUTE_US + 1_000)) == [30]
    assert first_minutes(tmp_path, TimeRange(40 * MINUTE_US + 1_001)) == []


def test_files_without_statistics_are_read(tmp_path: Path) -> None:
    table = rows(*range(3))
    write_deltalake(tmp_path, table, configuration={"delta.dataSkippingStatsColumns": "kind"})
    assert first_minutes(tmp_path, TimeRange(50 * MINUTE_US)) == [0]


def test_files_are_grouped_by_the_partitions_that_are_compared(tmp_path: Path) -> None:
    for kind in ("a b", "c/%", None):
        write_deltalake(tmp_path, rows(1, kind=kind), mode="append", partition_by=["kind"])
        write_deltalake(tmp_path, rows(2, kind=kind), mode="append", partition_by=["kind"])
    groups = recent_files(tmp_path, "at", TimeRange(0), ["kind", "id"])
    assert sorted((str(group.values["kind"]), len(group.files)) for group in groups) == [
        ("None", 2),
        ("a b", 2),
        ("c/%", 2),
    ]
    assert all((tmp_path / file).is_file() for group in groups for file in group.files)
    (group,) = recent_files(tmp_path, "at", TimeRange(0), ["id"])
    assert (len(group.files), group.values) == (6, {})
