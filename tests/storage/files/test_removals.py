from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.storage.files.background import InlineBackground
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.removals import Removals


def test_renamed_at_once_and_removed_when_due(tmp_path: Path) -> None:
    clock = ManualClock()
    removals = Removals(FaultyFileSystem(), InlineBackground(), clock)
    (tmp_path / "a.log").write_bytes(b"x")
    removals.retire([str(tmp_path / "a.log"), str(tmp_path / "missing")], 1000)
    assert [path.name for path in tmp_path.iterdir()] == ["a.log.deleted"]
    removals.run_due(clock.now_ms() + 999)
    assert len(removals) == 1
    removals.run_due(clock.now_ms() + 1000)
    assert list(tmp_path.iterdir()) == []
    assert len(removals) == 0


def test_folders_are_removed_with_their_content(tmp_path: Path) -> None:
    folder = tmp_path / "t-0.abc-delete"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "file").touch()
    clock = ManualClock()
    removals = Removals(FaultyFileSystem(), InlineBackground(), clock)
    removals.add(str(folder), 0)
    removals.run_due(clock.now_ms())
    assert list(tmp_path.iterdir()) == []


def test_a_failed_removal_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    disk = FaultyFileSystem()
    disk.fail("remove")
    clock = ManualClock()
    removals = Removals(disk, InlineBackground(), clock)
    (tmp_path / "file").touch()
    removals.add(str(tmp_path / "file"), 0)
    removals.run_due(clock.now_ms())
    assert "Deleted files cannot be removed" in caplog.text
    assert (tmp_path / "file").exists()
