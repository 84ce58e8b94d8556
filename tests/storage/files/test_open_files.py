import os
from pathlib import Path

import pytest

from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.files.open_files import OpenFile, OpenFiles


class Holder:
    def __init__(self) -> None:
        self.released = 0

    def release(self) -> None:
        self.released += 1


def test_a_file_closes_with_its_last_reference(tmp_path: Path) -> None:
    file = OpenFile(RealFileSystem(), str(tmp_path / "log"), create=True)
    fd, reader = file.fd, file
    del file
    os.fstat(fd)
    del reader
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_file_that_could_not_be_opened_closes_nothing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        OpenFile(RealFileSystem(), str(tmp_path / "missing"))


def test_the_one_unused_for_longest_lets_go() -> None:
    first, second, third = Holder(), Holder(), Holder()
    files = OpenFiles(capacity=2)
    for holder in (first, second, first, third):
        files.touch(holder)
    assert [first.released, second.released, third.released] == [0, 1, 0]
    assert len(files) == 2


def test_the_forgotten_are_not_released() -> None:
    first, second = Holder(), Holder()
    files = OpenFiles(capacity=1)
    files.touch(first)
    files.forget(first)
    files.touch(second)
    assert first.released == 0
