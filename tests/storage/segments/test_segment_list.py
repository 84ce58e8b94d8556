from pathlib import Path

import pytest

from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.files.open_files import OpenFiles
from signalbox.storage.segments.segment import Disk, Segment
from signalbox.storage.segments.segment_list import SegmentList


def segments(path: Path, *bases: int) -> SegmentList:
    disk = Disk(RealFileSystem(), OpenFiles())
    return SegmentList([Segment(str(path), base, disk, 4096) for base in bases])


def bases(of: SegmentList) -> list[int]:
    return [segment.base_offset for segment in of]


@pytest.mark.parametrize(("offset", "slot"), [(0, 0), (5, 0), (9, 0), (10, 1), (19, 1), (20, 2), (999, 2)])
def test_the_slot_of_an_offset(tmp_path: Path, offset: int, slot: int) -> None:
    assert segments(tmp_path, 5, 10, 20).slot_of(offset) == slot


def test_a_segment_ends_where_the_next_begins(tmp_path: Path) -> None:
    listed = segments(tmp_path, 5, 10, 20)
    assert [listed.end_of(slot, 99) for slot in range(3)] == [10, 20, 99]


def test_adding_and_taking(tmp_path: Path) -> None:
    listed = segments(tmp_path, 5, 10, 20)
    more = segments(tmp_path, 30)[0]
    listed.add(more)
    assert listed.active is more
    assert [segment.base_offset for segment in listed.take_first(1)] == [5]
    assert [segment.base_offset for segment in listed.take_after(0)] == [20, 30]
    assert bases(listed) == [10]
    assert listed.active.base_offset == 10
    assert [segment.base_offset for segment in listed.replace_all(more)] == [10]
    assert (bases(listed), listed.active, len(listed), listed.size_bytes()) == ([30], more, 1, 0)
