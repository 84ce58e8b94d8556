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
    assert [segment.base_offset for segment in listed.replace_run(0, 0, [more])] == [10]
    assert (bases(listed), listed.active, len(listed), listed.size_bytes()) == ([30], more, 1, 0)


@pytest.mark.parametrize(
    ("first", "last", "new", "removed", "left"),
    [
        (1, 2, [10], [10, 20], [5, 10, 30]),
        (1, 2, [10, 15, 25], [10, 20], [5, 10, 15, 25, 30]),
        (0, 2, [0], [5, 10, 20], [0, 30]),
        (1, 1, [], [10], [5, 20, 30]),
        (2, 3, [20], [20, 30], [5, 10, 20]),
        (1, 0, [7], [], [5, 7, 10, 20, 30]),
        (0, 3, [99], [5, 10, 20, 30], [99]),
    ],
)
def test_a_run_in_the_middle_is_replaced(
    tmp_path: Path, first: int, last: int, new: list[int], removed: list[int], left: list[int]
) -> None:
    listed = segments(tmp_path, 5, 10, 20, 30)
    replaced = listed.replace_run(first, last, list(segments(tmp_path, *new)) if new else [])
    assert [segment.base_offset for segment in replaced] == removed
    assert (bases(listed), listed.active.base_offset) == (left, left[-1])
    assert [listed.slot_of(base) for base in left] == list(range(len(left)))
    assert listed.end_of(len(left) - 1, 1_000) == 1_000


@pytest.mark.parametrize(
    ("first", "last", "new"),
    [(0, 3, []), (1, 2, [30]), (1, 2, [5]), (1, 2, [12, 12]), (2, 2, [10]), (0, 0, [10])],
)
def test_a_replacement_that_breaks_the_order_or_leaves_nothing_is_rejected(
    tmp_path: Path, first: int, last: int, new: list[int]
) -> None:
    listed = segments(tmp_path, 5, 10, 20, 30)
    with pytest.raises(ValueError):
        listed.replace_run(first, last, list(segments(tmp_path, *new)) if new else [])
    assert (bases(listed), listed.active.base_offset) == ([5, 10, 20, 30], 30)


def test_a_reader_keeps_the_segments_that_it_iterates_over(tmp_path: Path) -> None:
    listed = segments(tmp_path, 5, 10, 20)
    reader = iter(listed)
    assert next(reader).base_offset == 5
    listed.replace_run(0, 1, [])
    assert [segment.base_offset for segment in reader] == [10, 20]
