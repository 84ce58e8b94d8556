"""A file is replaced as a whole, and is on the disk before its name is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from signalbox.common.durable_file import replace_durably


def test_the_content_is_on_the_disk_before_the_name_and_the_name_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state"
    path.write_text("old")
    seen: list[tuple[bool, str]] = []

    def fsync(descriptor: int) -> None:
        seen.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.read_text()))

    monkeypatch.setattr(os, "fsync", fsync)
    replace_durably(path, "new")
    assert seen == [(False, "old"), (True, "new")]
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_durably(path, "new")
    assert path.read_text() == "old"
