import os
import struct
import tracemalloc
from pathlib import Path

import pytest

from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.segments.transaction_index import AbortedTransaction, TransactionIndex

pytestmark = [pytest.mark.spec("D2"), pytest.mark.spec("D5")]

DISK = RealFileSystem()
ENTRIES = [
    AbortedTransaction(9, 100, 110, 105),
    AbortedTransaction(8, 105, 120, 121),
    AbortedTransaction(9, 130, 140, 141),
]


def index_at(path: Path, *entries: AbortedTransaction) -> TransactionIndex:
    index = TransactionIndex(str(path / "00000000000000000100.txnindex"))
    for entry in entries:
        index.append(entry)
    return index


def loaded(index: TransactionIndex) -> list[AbortedTransaction]:
    fresh = TransactionIndex(index.path)
    fresh.may_be_on_disk()
    fresh.load(DISK, 100)
    return fresh.entries()


def test_kafkas_bytes(tmp_path: Path) -> None:
    index = index_at(tmp_path, ENTRIES[0])
    index.save(DISK)
    assert Path(index.path).read_bytes() == bytes(2) + struct.pack(">qqqq", 9, 100, 110, 105)


def test_entries_are_added_and_cut_off_in_the_file(tmp_path: Path) -> None:
    index = index_at(tmp_path, *ENTRIES[:2])
    index.save(DISK)
    index.append(ENTRIES[2])
    index.save(DISK)
    assert loaded(index) == ENTRIES
    index.truncate_to(120)
    index.save(DISK)
    assert loaded(index) == ENTRIES[:1]
    index.truncate_to(111)
    assert len(index) == 1
    index.clear()
    index.save(DISK)
    assert loaded(index) == []


def test_a_segment_without_aborted_transactions_has_no_file(tmp_path: Path) -> None:
    index = index_at(tmp_path)
    index.save(DISK)
    index.sync(DISK)
    assert list(tmp_path.iterdir()) == []
    index.may_be_on_disk()
    assert index.is_loaded
    index.load(DISK, 100)
    assert len(index) == 0


def test_released_entries_are_loaded_again(tmp_path: Path) -> None:
    index = index_at(tmp_path, *ENTRIES)
    index.save(DISK)
    index.sync(DISK)
    index.release()
    assert not index.is_loaded
    index.save(DISK)
    index.load(DISK, 100)
    assert index.entries() == ENTRIES
    empty = index_at(tmp_path)
    empty.release()
    assert empty.is_loaded


@pytest.mark.parametrize(
    ("fetch_offset", "end_offset", "producers", "is_complete"),
    [
        (0, 100, [], True),
        (0, 101, [9], True),  # the last stable offset is the end: nothing later can begin before it
        (0, 106, [9, 8], True),
        (111, 122, [8], True),
        (110, 122, [9, 8], True),
        (121, 131, [9], True),
        (121, 142, [9], False),
        (141, 150, [], False),
    ],
)
def test_transactions_in_a_range(
    tmp_path: Path, fetch_offset: int, end_offset: int, producers: list[int], is_complete: bool
) -> None:
    overlapping, complete = index_at(tmp_path, *ENTRIES).overlapping(fetch_offset, end_offset)
    assert [entry.producer_id for entry in overlapping] == producers
    assert complete is is_complete


@pytest.mark.parametrize(
    "content",
    [
        b"x" * 33,
        struct.pack(">hqqqq", 1, 9, 100, 110, 105),  # another version
        struct.pack(">hqqqq", 0, 9, 90, 99, 100),  # a marker before the segment
        struct.pack(">hqqqq", 0, 9, 120, 110, 105),  # ends before it begins
        struct.pack(">hqqqq", 0, 9, 100, 110, 105) * 2,
    ],
)
def test_a_corrupt_file_is_rejected(tmp_path: Path, content: bytes) -> None:
    index = index_at(tmp_path)
    Path(index.path).write_bytes(content)
    index.may_be_on_disk()
    with pytest.raises(ValueError, match="txnindex"):
        index.load(DISK, 100)


class RenamingFileSystem(RealFileSystem):
    """Another thread renames each file just before it is opened."""

    def open(self, path: str, create: bool = False) -> int:
        os.rename(path, f"{path}.deleted")
        return super().open(path, create)


def test_a_file_that_is_removed_while_it_is_synced(tmp_path: Path) -> None:
    index = index_at(tmp_path, *ENTRIES)
    index.save(DISK)
    index.sync(RenamingFileSystem())
    assert [file.suffix for file in tmp_path.iterdir()] == [".deleted"]


def test_an_entry_takes_its_four_numbers_of_memory(tmp_path: Path) -> None:
    index, count = index_at(tmp_path), 10_000
    tracemalloc.start()
    try:
        for offset in range(count):
            index.append(AbortedTransaction(9, offset, offset, offset + 1))
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used < 48 * count
