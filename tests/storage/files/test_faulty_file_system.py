import errno
from pathlib import Path

import pytest

from signalbox.storage.files.faulty_file_system import FaultyFileSystem


def test_a_rule_strikes_its_operation_and_path_after_the_calls_it_skips(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    disk.fail("open", errno.EACCES, "secret", skip=1)
    disk.close(disk.open(str(tmp_path / "secret"), create=True))
    with pytest.raises(PermissionError):
        disk.open(str(tmp_path / "secret"))
    disk.close(disk.open(str(tmp_path / "other"), create=True))
    disk.heal()
    disk.close(disk.open(str(tmp_path / "secret")))
    assert disk.calls == {"open": 4, "close": 3}


def test_a_full_disk_takes_a_part_and_then_nothing(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    fd = disk.open(str(tmp_path / "file"), create=True)
    disk.capacity_bytes = 6
    assert disk.pwrite(fd, b"12345678", 0) == 6
    with pytest.raises(OSError) as full:
        disk.pwrite(fd, b"78", 6)
    assert full.value.errno == errno.ENOSPC
    assert disk.pread(fd, 100, 0) == b"123456"
    disk.truncate(fd, 2)
    disk.fsync(fd)
    assert disk.pread(fd, 100, 0) == b"12"
    disk.close(fd)


def test_folders_and_names_pass_through(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    disk.make_directory(str(tmp_path / "a" / "b"))
    disk.rename(str(tmp_path / "a" / "b"), str(tmp_path / "a" / "c"))
    disk.sync_directory(str(tmp_path / "a"))
    disk.remove(str(tmp_path / "a" / "c"))
    assert list((tmp_path / "a").iterdir()) == []
