from pathlib import Path

import pytest

from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.segments.time_index import TimeIndex

pytestmark = pytest.mark.spec("D2")

DISK = RealFileSystem()


def index(path: Path, *entries: tuple[int, int]) -> TimeIndex:
    made = TimeIndex(str(path / "00000000000000000100.timeindex"), 100)
    for entry in entries:
        made.append(*entry)
    return made


def test_entries_are_kafkas_twelve_bytes(tmp_path: Path) -> None:
    index(tmp_path, (1000, 109)).save(DISK)
    assert (tmp_path / "00000000000000000100.timeindex").read_bytes().hex() == "00000000000003e8" + "00000009"


def test_only_later_timestamps_become_entries(tmp_path: Path) -> None:
    made = index(tmp_path, (-1, 100), (1000, 109), (1000, 110), (900, 111), (1001, 112))
    assert made.entries() == [(1000, 109), (1001, 112)]
    assert made.last() == (1001, 112)
    assert index(tmp_path).last() is None


def test_loaded_as_saved_and_the_last_entry_alone(tmp_path: Path) -> None:
    made = index(tmp_path, (1000, 109), (1001, 112))
    made.save(DISK)
    made.append(1005, 120)
    made.save(DISK)
    again = index(tmp_path)
    again.load(DISK, 36)
    assert again.entries() == [(1000, 109), (1001, 112), (1005, 120)]


@pytest.mark.parametrize(("timestamp", "offset"), [(0, 100), (1000, 100), (1001, 109), (1002, 112), (9999, 112)])
def test_where_to_start_looking_for_a_timestamp(tmp_path: Path, timestamp: int, offset: int) -> None:
    assert index(tmp_path, (1000, 109), (1001, 112)).offset_before(timestamp) == offset


@pytest.mark.parametrize(("offset", "left"), [(100, 0), (109, 0), (110, 1), (112, 1), (113, 2)])
def test_truncation_drops_the_offset_and_later(tmp_path: Path, offset: int, left: int) -> None:
    made = index(tmp_path, (1000, 109), (1001, 112))
    made.truncate_to(offset)
    assert len(made) == left


@pytest.mark.parametrize("content", [b"123", bytes(range(1, 13)) + bytes(12)], ids=["cut off", "zero tail"])
def test_invalid_index_files_are_rejected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "00000000000000000100.timeindex").write_bytes(content)
    with pytest.raises(ValueError, match=r"100\.timeindex"):
        index(tmp_path).load(DISK, len(content))


def test_clear_forgets_everything(tmp_path: Path) -> None:
    made = index(tmp_path, (1000, 109))
    made.clear()
    assert made.last() is None
