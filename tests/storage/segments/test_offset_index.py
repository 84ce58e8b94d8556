from pathlib import Path

import pytest

from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.segments.offset_index import OffsetIndex

pytestmark = pytest.mark.spec("D2")

DISK = RealFileSystem()


def index(path: Path, *entries: tuple[int, int]) -> OffsetIndex:
    made = OffsetIndex(str(path / "00000000000000000100.index"), 100)
    for entry in entries:
        made.append(*entry)
    return made


def test_entries_are_kafkas_eight_bytes(tmp_path: Path) -> None:
    index(tmp_path, (109, 557), (120, 2**31 - 1)).save(DISK)
    data = (tmp_path / "00000000000000000100.index").read_bytes()
    assert data.hex() == "00000009" + "0000022d" + "00000014" + "7fffffff"


def test_loaded_as_saved(tmp_path: Path) -> None:
    index(tmp_path, (109, 557), (120, 900)).save(DISK)
    again = index(tmp_path)
    again.load(DISK, 16)
    assert again.entries() == [(109, 557), (120, 900)]


def test_save_appends_new_entries_and_truncates_removed_ones(tmp_path: Path) -> None:
    made = index(tmp_path, (109, 557), (120, 900), (130, 1200))
    made.save(DISK)
    made.truncate_to_position(900)
    made.append(125, 1000)
    made.save(DISK)
    again = index(tmp_path)
    again.load(DISK, 100)
    assert again.entries() == [(109, 557), (125, 1000)]


@pytest.mark.parametrize(("offset", "position"), [(100, 0), (108, 0), (109, 557), (119, 557), (120, 900), (10**6, 900)])
def test_where_to_start_looking_for_an_offset(tmp_path: Path, offset: int, position: int) -> None:
    assert index(tmp_path, (109, 557), (120, 900)).position_before(offset) == position


@pytest.mark.parametrize(
    ("end", "entry"), [(1, None), (557, None), (558, (557, 109)), (900, (557, 109)), (901, (900, 120))]
)
def test_the_last_indexed_batch_before_an_end(tmp_path: Path, end: int, entry: tuple[int, int] | None) -> None:
    assert index(tmp_path, (109, 557), (120, 900)).last_within(end) == entry


@pytest.mark.parametrize("content", [b"1234567", bytes(range(1, 9)) + bytes(8)], ids=["cut off", "zero tail"])
def test_invalid_index_files_are_rejected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "00000000000000000100.index").write_bytes(content)
    with pytest.raises(ValueError, match=r"100\.index"):
        index(tmp_path).load(DISK, len(content))


def test_clear_forgets_everything(tmp_path: Path) -> None:
    made = index(tmp_path, (109, 557))
    made.clear()
    assert len(made) == 0
