"""Which records retention took, in words, and noted once per batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.positions.lost_records import loss_text, lost_ranges, note_gap, ranges_text, read_gaps
from signalbox.pipeline.table_state import StateError
from tests.pipeline.synced_names import note_synced

pytestmark = pytest.mark.spec("P3")


def test_what_lies_before_the_earliest_offsets_is_lost() -> None:
    earliest = {"t:0": 15, "t:1": 3, "t:2": 7}
    assert lost_ranges({"t:0": 10, "t:1": 3}, earliest, None) == {"t:0": (10, 15), "t:2": (0, 7)}
    assert lost_ranges({"t:0": 20, "t:1": 3, "t:2": 9}, earliest, None) == {}


def test_a_run_with_an_end_loses_nothing_behind_it() -> None:
    earliest = {"t:0": 15, "t:1": 3, "t:2": 7}
    assert lost_ranges({"t:0": 10, "t:1": 0}, earliest, {"t:0": 12, "t:1": 9}) == {"t:0": (10, 12), "t:1": (0, 3)}


def test_the_error_names_the_offsets_and_the_way_on() -> None:
    lost = {"a:b:0": (10, 15), "a:b:3": (7, 8)}
    assert ranges_text(lost) == "partition 0, offsets 10 to 14; partition 3, offset 7"
    text = loss_text("a:b", lost)
    assert text.startswith("records of topic a:b were deleted before they were read: partition 0, offsets 10 to 14;")
    assert "--no-fail-on-data-loss" in text


def test_a_repeated_batch_notes_its_gap_once(tmp_path: Path) -> None:
    assert read_gaps(tmp_path) == []
    note_gap(tmp_path, "checkpoint/3", {"t:0": (10, 12)})
    note_gap(tmp_path, "checkpoint/3", {"t:0": (10, 15)})
    note_gap(tmp_path, "backfill-1/3", {"t:0": (0, 2)})
    assert [(gap.batch, gap.ranges) for gap in read_gaps(tmp_path)] == [
        ("checkpoint/3", {"t:0": (10, 15)}),
        ("backfill-1/3", {"t:0": (0, 2)}),
    ]


def test_a_gap_is_on_the_disk_before_its_batch_is_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = note_synced(monkeypatch)
    note_gap(tmp_path, "checkpoint/3", {"t:0": (10, 12)})
    assert synced == [".gaps.json", tmp_path.name]


@pytest.mark.parametrize("content", ["[", "{}x", '[{"batch": "b"}]', '[{"batch": "b", "at_ms": 1, "ranges": 5}]'])
def test_a_corrupt_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "gaps.json").write_text(content)
    with pytest.raises(StateError, match=r"gaps\.json cannot be read"):
        read_gaps(tmp_path)
