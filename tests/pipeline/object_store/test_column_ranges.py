"""Ranges of numbers, times and dates, as Delta's statistics have them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from signalbox.pipeline.object_store.column_ranges import column_range, time_range

pytestmark = pytest.mark.spec("P8")


def test_milliseconds_hold_every_microsecond() -> None:
    assert time_range("TIMESTAMP_MICROS", [(1_001, 1_999), (5, 3_000)]) == (
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.003Z",
    )
    assert time_range("TIMESTAMP_MICROS", [(-1, -1)]) == ("1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z")


def test_dates() -> None:
    assert time_range("DATE", [(20_784, 20_785), (-1, 0)]) == ("1969-12-31", "2026-11-28")


@pytest.mark.parametrize("far", [2**62, -(2**62)])
def test_a_time_of_no_year_has_no_range(far: int) -> None:
    assert time_range("TIMESTAMP_MICROS", [(far, far)]) is None
    assert time_range("DATE", [(far, far)]) is None


@pytest.mark.parametrize("end", ["inf", "-inf"])
def test_a_column_with_infinity_has_no_range(end: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"d": [1.0, float(end), 0.5, 2.0]}), tmp_path / "f.parquet", row_group_size=2)
    footer = pq.read_metadata(tmp_path / "f.parquet")
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    assert column_range(footer.schema.column(0), [group.column(0).statistics for group in groups]) is None


def test_the_range_of_all_row_groups(tmp_path: Path) -> None:
    columns = {"n": [3, 1, None, 7], "d": [0.5, 2.5, float("nan"), 1.0], "none": pa.nulls(4, pa.int64())}
    times = {"day": pa.array([1, 5, None, 3], pa.date32())}
    pq.write_table(pa.table(columns | times), tmp_path / "f.parquet", row_group_size=2)
    footer = pq.read_metadata(tmp_path / "f.parquet")
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    ranges = {
        footer.schema.column(index).name: column_range(
            footer.schema.column(index), [group.column(index).statistics for group in groups]
        )
        for index in range(footer.num_columns)
    }
    assert ranges == {"n": (1, 7), "d": (0.5, 2.5), "none": None, "day": ("1970-01-02", "1970-01-06")}
