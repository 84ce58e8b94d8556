"""How dirty a log is, what may be cleaned, and whether it is due."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.storage.cleaner.log_to_clean import log_to_clean
from tests.storage.cleaner.cleaning import COMPACTED, CompactedLog, keyed, marker

pytestmark = pytest.mark.spec("D6")


def filled(tmp_path: Path, segments: int = 4) -> CompactedLog:
    log = CompactedLog(tmp_path)
    for number in range(segments):
        log.append(keyed({"a": str(number)}, now_ms=log.clock.now_ms()))
        log.clock.advance(1_000)
    log.append(keyed({"a": "active"}), roll=False)
    return log


def bounds(log: CompactedLog) -> tuple[int, int]:
    target = log_to_clean(log.log, log.clock.now_ms())
    return target.first_dirty_offset, target.upper_bound_offset


def test_all_but_the_active_segment_may_be_cleaned(tmp_path: Path) -> None:
    assert bounds(filled(tmp_path)) == (0, 4)


def test_what_is_not_committed_may_not(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.log.high_watermark = 2
    assert bounds(log) == (0, 2)


def test_what_is_too_young_may_not(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.log.update_config(replace(COMPACTED, min_compaction_lag_ms=2_500))
    now_ms = log.clock.now_ms()
    assert log_to_clean(log.log, now_ms).upper_bound_offset == 2
    assert log_to_clean(log.log, now_ms + 500).upper_bound_offset == 3


def test_what_has_no_timestamp_is_as_young_as_its_file(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    now_ms = log.clock.now_ms()
    for number in range(3):
        log.append(keyed({"a": str(number)}, now_ms=-1))
        path = log.log.body.segments[number].path(".log")
        os.utime(path, ns=(0, (now_ms + number * 1_000) * 1_000_000))
    log.log.update_config(replace(COMPACTED, min_compaction_lag_ms=2_500))
    for elapsed_ms, upper_bound in ((2_499, 0), (2_500, 1), (3_500, 2), (4_500, 3)):
        assert log_to_clean(log.log, now_ms + elapsed_ms).upper_bound_offset == upper_bound


def test_what_has_no_timestamp_is_never_overdue(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    log.append(keyed({"a": "1"}, now_ms=-1))
    log.log.update_config(replace(COMPACTED, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=5_000))
    assert log_to_clean(log.log, log.clock.now_ms() + 10**9).overdue_ms == 0


def test_an_open_transaction_may_not(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    log.append(keyed({"a": "1"}))
    log.append(keyed({"a": "2"}, producer=(7, 0, 0), transactional=True))
    log.append(keyed({"a": "3"}))
    assert bounds(log) == (0, 1)
    log.append(marker(7, commit=True))
    log.log.high_watermark = 3  # the marker is not committed yet
    assert bounds(log) == (0, 1)
    log.log.high_watermark = 4
    assert bounds(log) == (0, 4)


def test_the_dirty_part_begins_where_the_last_round_ended(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.clean()
    log.append(keyed({"b": "1"}))
    assert bounds(log) == (4, 6)
    log.log.delete_records_before(5)
    assert bounds(log) == (5, 6)
    log.log.body.compacted_to = 99  # beyond the end
    assert bounds(log) == (5, 6)


@pytest.mark.parametrize(("ratio", "due"), [(0.49, True), (0.51, False)])
def test_a_log_is_due_by_its_dirty_ratio(tmp_path: Path, ratio: float, due: bool) -> None:
    log = filled(tmp_path, 2)
    log.log.body.compacted_to = 1
    log.log.update_config(replace(COMPACTED, min_cleanable_dirty_ratio=ratio))
    target = log_to_clean(log.log, log.clock.now_ms())
    assert target.dirty_ratio == pytest.approx(0.5)
    assert target.is_due is due


def test_a_log_is_due_by_the_age_of_its_dirty_records(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    log.log.update_config(replace(COMPACTED, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=5_000))
    now_ms = log.clock.now_ms()
    assert not log_to_clean(log.log, now_ms).is_due
    overdue = log_to_clean(log.log, now_ms + 3_500)
    assert (overdue.overdue_ms, overdue.is_due) == (500, True)


def test_the_active_segment_is_rolled_in_time_for_max_compaction_lag() -> None:
    config = replace(COMPACTED, max_compaction_lag_ms=5_000)
    assert (config.roll_ms, replace(config, cleanup_policy=("delete",)).roll_ms) == (5_000, config.segment_ms)
