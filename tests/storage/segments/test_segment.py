from pathlib import Path

import pytest

from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.files.open_files import OpenFiles
from signalbox.storage.segments.segment import Disk, Segment
from tests.storage.workbench import NOW_MS, batch

pytestmark = pytest.mark.spec("D2")


def disk(capacity: int = 8) -> Disk:
    return Disk(RealFileSystem(), OpenFiles(capacity))


def filled(path: Path, count: int, on: Disk | None = None, interval: int = 300) -> Segment:
    """A segment from offset 0 with `count` batches of three records and rising timestamps."""
    segment = Segment(str(path), 0, on or disk(), interval)
    file = segment.activate()
    for number in range(count):
        data = batch(3, offset=number * 3, timestamp=NOW_MS + number * 10)
        RealFileSystem.pwrite(file.fd, data, segment.size)
        segment.accept(number * 3, number * 3 + 2, len(data), NOW_MS + number * 10 + 2)
        segment.written = segment.size
    return segment


def reopened(path: Path, on: Disk | None = None) -> Segment:
    segment = Segment(str(path), 0, on or disk(), 300)
    segment.use_existing_file((path / "00000000000000000000.log").stat().st_size)
    return segment


def places(segment: Segment, count: int) -> list[tuple[int, int, int] | None]:
    return [segment.locate(offset) for offset in range(count * 3)]


def test_every_offset_is_found_from_memory_and_from_the_file_alike(tmp_path: Path) -> None:
    segment = filled(tmp_path, 300)  # more batches than are kept in memory: the first ones are looked up in the file
    length = segment.size // 300
    expected = [(offset // 3 * length, length, offset // 3 * 3) for offset in range(900)]
    assert places(segment, 300) == expected
    segment.save_indexes()
    assert places(reopened(tmp_path), 300) == expected
    assert segment.locate(900) is None


def test_a_gap_is_bridged_to_the_next_batch(tmp_path: Path) -> None:
    segment = filled(tmp_path, 2)
    data = batch(1, offset=100)
    RealFileSystem.pwrite(segment.activate().fd, data, segment.size)
    start = segment.size
    segment.accept(100, 100, len(data), NOW_MS)
    segment.written = segment.size
    assert [segment.locate(offset) for offset in (6, 50, 100)] == [(start, len(data), 100)] * 3
    assert segment.locate(2) == (0, start // 2, 0)


def test_an_index_entry_is_a_last_offset_and_where_its_batch_begins(tmp_path: Path) -> None:
    segment = filled(tmp_path, 40)
    length = segment.size // 40
    assert len(segment.index) > 5
    assert all(
        offset % 3 == 2 and position == (offset - 2) // 3 * length for offset, position in segment.index.entries()
    )
    assert all(offset % 3 == 2 for _, offset in segment.time_index.entries())


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_lost_index_is_rebuilt(tmp_path: Path, suffix: str) -> None:
    segment = filled(tmp_path, 40)
    segment.save_indexes(final=True)
    entries = segment.index.entries()
    (tmp_path / f"00000000000000000000{suffix}").unlink()
    again = reopened(tmp_path)
    assert again.locate(100) == segment.locate(100)
    assert again.index.entries() == entries


def test_the_largest_timestamp_is_known_after_a_restart(tmp_path: Path) -> None:
    filled(tmp_path, 40).save_indexes()  # not final: the last batches are not in the time index
    again = reopened(tmp_path)
    assert again.max_timestamp == NOW_MS + 392
    assert again.max_timestamp_offset == 119


def test_a_closed_segment_lets_go_of_everything_and_comes_back(tmp_path: Path) -> None:
    on = disk(capacity=1)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder in ("a", "b"):
        filled(tmp_path / folder, 40).save_indexes(final=True)
    first, second = reopened(tmp_path / "a", on), reopened(tmp_path / "b", on)
    for _ in range(3):
        assert first.locate(50) == second.locate(50)
        assert len(on.open_files) == 1
        assert (len(first.index), len(second.index) > 0) == (0, True)


def test_a_reader_keeps_the_file_that_the_segment_gave_up(tmp_path: Path) -> None:
    segment = filled(tmp_path, 2)
    piece = segment.slice(0, 10)
    segment.release()
    (tmp_path / "00000000000000000000.log").unlink()
    assert len(piece.read()) == 10


def test_truncation_removes_later_entries(tmp_path: Path) -> None:
    segment = filled(tmp_path, 40)
    found = segment.locate(60)
    assert found is not None
    segment.truncate_at(found[0], 60)
    assert segment.size == segment.written == found[0] == (tmp_path / "00000000000000000000.log").stat().st_size
    assert segment.max_timestamp == NOW_MS + 192
    assert segment.locate(59) == (found[0] - found[1], found[1], 57)
    assert segment.locate(60) is None
    assert all(offset < 60 for offset, _ in segment.index.entries())


def test_rolling_back_to_a_mark(tmp_path: Path) -> None:
    segment = filled(tmp_path, 40)
    entries, times = segment.index.entries(), segment.time_index.entries()
    mark = segment.mark()
    for number in range(40, 60):
        segment.accept(number * 3, number * 3 + 2, 121, NOW_MS + 9999)
    segment.roll_back(mark, 120)
    assert (segment.size, segment.max_timestamp) == (mark.size, NOW_MS + 392)
    assert (segment.index.entries(), segment.time_index.entries()) == (entries, times)
    assert segment.locate(119) == (mark.size - mark.size // 40, mark.size // 40, 117)


def test_an_empty_segment_has_no_timestamp(tmp_path: Path) -> None:
    segment = Segment(str(tmp_path), 7, disk(), 300)
    segment.activate()
    assert segment.max_timestamp == -1
    assert segment.locate(7) is None
    assert list(segment.headers()) == []
