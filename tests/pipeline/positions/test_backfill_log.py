"""Backfills are noted before they begin, and stay open until they are done."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.positions.backfill_log import FILE, Backfill, add_backfills, mark_done, read_backfills
from signalbox.pipeline.positions.coverage import Span
from signalbox.pipeline.table_state import StateError
from tests.pipeline.synced_names import note_synced


@pytest.mark.spec("P7")
def test_an_open_backfill_comes_before_a_new_one(tmp_path: Path) -> None:
    assert read_backfills(tmp_path) == []
    assert add_backfills(tmp_path, []) == []
    first = Backfill(1, {"t:0": 0}, {"t:0": 5})
    assert add_backfills(tmp_path, [first.span]) == [first]
    second = Backfill(2, {"t:0": 5}, {"t:0": 9})
    assert add_backfills(tmp_path, [Span({"t:0": 5}, {"t:0": 9})]) == [first, second]
    mark_done(tmp_path, 1)
    assert add_backfills(tmp_path, []) == [second]
    assert [backfill.done for backfill in read_backfills(tmp_path)] == [True, False]
    assert second.folder == "backfill-2"


@pytest.mark.spec("P7")
def test_a_backfill_is_on_the_disk_before_it_begins_and_when_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = note_synced(monkeypatch)
    add_backfills(tmp_path, [Span({"t:0": 0}, {"t:0": 5})])
    assert synced == [f".{FILE}", tmp_path.name]
    mark_done(tmp_path, 1)
    assert synced[2:] == [f".{FILE}", tmp_path.name]


def test_a_corrupt_file_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[{]")
    with pytest.raises(StateError, match=r"backfills.json cannot be read"):
        read_backfills(tmp_path)
