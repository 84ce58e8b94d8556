"""Times that jump neither add up nor silence."""

from __future__ import annotations

import pytest

from signalbox.pipeline.alerts.windows import MOST_QUIET, MOST_SLICES, SLICE_MS, CountWindow, QuietTimes

pytestmark = pytest.mark.spec("P12")

MINUTE_MS = 60_000
HOUR_MS = 3_600_000


def added(window: CountWindow, at_ms: int, count: int) -> int:
    return window.add(at_ms, at_ms, count, MINUTE_MS)


def test_events_within_a_window_count_in_whatever_order_they_come() -> None:
    window = CountWindow()
    assert added(window, 90_000, 5) == 5
    assert added(window, 31_000, 3) == 8
    assert added(window, 29_000, 2) == 5, "the first and the last are 61 s apart"
    assert added(window, 60_000, 1) == 9


def test_a_slice_counts_within_a_window_only_as_one() -> None:
    window = CountWindow()
    assert window.add(1_000, 4_000, 3, MINUTE_MS) == 3
    assert added(window, 60_500, 1) == 4
    assert added(window, 61_500, 1) == 2, "the slice begins more than a minute before"


def test_an_event_of_the_future_neither_stays_in_the_window_nor_empties_it() -> None:
    window = CountWindow()
    assert added(window, HOUR_MS, 50) == 50
    assert added(window, 1_000, 50) == 50
    assert added(window, 30_000, 1) == 51
    assert added(window, 100_000, 1) == 1
    assert added(window, HOUR_MS + 1_000, 1) == 51


def test_the_memory_is_limited_and_keeps_what_was_used_last() -> None:
    window = CountWindow()
    added(window, HOUR_MS, 7)
    for number in range(MOST_SLICES):
        added(window, number * SLICE_MS, 1)
    assert added(window, HOUR_MS, 1) == 1
    assert added(window, (MOST_SLICES - 1) * SLICE_MS, 1) == MINUTE_MS // SLICE_MS + 2


def test_an_alert_is_quiet_around_its_time_only() -> None:
    times = QuietTimes()
    assert not times.is_quiet(HOUR_MS, MINUTE_MS)
    times.note(HOUR_MS)
    assert times.is_quiet(HOUR_MS + 59_999, MINUTE_MS)
    assert times.is_quiet(HOUR_MS - 59_999, MINUTE_MS)
    assert not times.is_quiet(HOUR_MS + MINUTE_MS, MINUTE_MS)
    assert not times.is_quiet(0, MINUTE_MS)
    times.note(0)
    assert times.is_quiet(HOUR_MS, MINUTE_MS), "two clocks do not end each other's quiet times"


def test_as_many_clocks_as_quiet_times_are_known() -> None:
    times = QuietTimes()
    for number in range(MOST_QUIET + 1):
        times.note(number * HOUR_MS)
    assert [times.is_quiet(number * HOUR_MS, MINUTE_MS) for number in (0, 1, MOST_QUIET)] == [False, True, True]


def test_a_copy_changes_alone() -> None:
    window, times = CountWindow(), QuietTimes()
    added(window, 1_000, 1)
    added(window.copied(), 1_000, 5)
    times.copied().note(0)
    assert added(window, 1_000, 1) == 2
    assert not times.is_quiet(0, MINUTE_MS)
