import errno
import os
from pathlib import Path

import pytest

from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.file_system import RealFileSystem, replace_file, write_fully


class StutteringFileSystem(RealFileSystem):
    """Writes three bytes at a time; a signal or an almost full disk can cause such short writes."""

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:  # type: ignore[override]
        return RealFileSystem.pwrite(fd, bytes(data[:3]), position)


def test_short_writes_are_continued(tmp_path: Path) -> None:
    disk = StutteringFileSystem()
    fd = disk.open(str(tmp_path / "file"), create=True)
    write_fully(disk, fd, b"0123456789", 2)
    disk.close(fd)
    assert (tmp_path / "file").read_bytes() == b"\0\0" + b"0123456789"


def test_opening_a_missing_file_fails_without_create(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        RealFileSystem().open(str(tmp_path / "missing"))


def test_files_and_empty_folders_are_removed(tmp_path: Path) -> None:
    disk = RealFileSystem()
    disk.make_directory(str(tmp_path / "folder" / "inner"))
    disk.remove(str(tmp_path / "folder" / "inner"))
    (tmp_path / "file").write_bytes(b"")
    disk.remove(str(tmp_path / "file"))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_space_is_reserved_and_given_back(tmp_path: Path) -> None:
    disk = RealFileSystem()
    fd = disk.open(str(tmp_path / "file"), create=True)
    disk.reserve(fd, 1 << 20)
    assert (os.fstat(fd).st_size, os.fstat(fd).st_blocks * 512 >= 1 << 20) == (0, True)
    disk.truncate(fd, 0)
    assert os.fstat(fd).st_blocks * 512 < 1 << 20
    disk.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        disk.reserve(fd, 1)


@pytest.mark.parametrize("sync", [False, True])
def test_a_file_is_replaced_atomically(tmp_path: Path, sync: bool) -> None:
    path = tmp_path / "checkpoint"
    replace_file(RealFileSystem(), str(path), b"a long first content", sync)
    replace_file(RealFileSystem(), str(path), b"short", sync)
    assert path.read_bytes() == b"short"
    assert [entry.name for entry in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.parametrize("operation", ["pwrite", "fsync", "rename", "truncate"])
def test_the_old_content_stays_when_replacing_fails(tmp_path: Path, operation: str) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(b"old")
    disk = FaultyFileSystem()
    disk.fail(operation, errno.ENOSPC)
    with pytest.raises(OSError):
        replace_file(disk, str(path), b"new", sync=True)
    assert path.read_bytes() == b"old"
