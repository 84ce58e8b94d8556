"""The position of the metadata store, as it is kept in a log directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.config.start_error import StartError
from signalbox.common.ids import StorePosition
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.directories.store_position_file import (
    read_store_position,
    remember_store_position,
    write_store_position,
)
from signalbox.storage.files.background import InlineBackground
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.file_names import STORE_POSITION_FILE
from signalbox.storage.files.file_system import FileSystem, RealFileSystem
from signalbox.storage.files.open_files import OpenFiles
from signalbox.storage.segments.segment import Disk

POSITION = StorePosition("wYkG3pUoQKGSVyx4OZH8Kg", 12, 3)


def test_written_values_are_read_back(tmp_path: Path) -> None:
    assert read_store_position(str(tmp_path)) is None
    write_store_position(RealFileSystem(), str(tmp_path), POSITION)
    assert read_store_position(str(tmp_path)) == POSITION


@pytest.mark.parametrize(
    "content", [b"", b"incarnation=a", b"incarnation=a\ngeneration=x\ncontroller.epoch=1", b"\xff"]
)
def test_a_file_that_makes_no_sense_rejects_the_start(tmp_path: Path, content: bytes) -> None:
    (tmp_path / STORE_POSITION_FILE).write_bytes(content)
    with pytest.raises(StartError, match=STORE_POSITION_FILE):
        read_store_position(str(tmp_path))


def test_a_directory_that_cannot_be_written_goes_offline_alone(tmp_path: Path) -> None:
    faulty = FaultyFileSystem(RealFileSystem())
    file_systems: dict[str, FileSystem] = {"a": faulty, "b": RealFileSystem()}
    directories = []
    for name, file_system in file_systems.items():
        (tmp_path / name).mkdir()
        disk = Disk(file_system, OpenFiles())
        directories.append(LogDirectory(str(tmp_path / name), disk, InlineBackground(), ManualClock()))
    faulty.fail("open")
    remember_store_position(directories, POSITION)
    assert [directory.online for directory in directories] == [False, True]
    assert read_store_position(str(tmp_path / "b")) == POSITION
