"""Ranges of times and dates, as text of Delta's statistics."""

from __future__ import annotations

import pytest

from signalbox.pipeline.sinks.time_ranges import time_range

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
