"""A process that ends at any instant of a cleaning round: the next start has every record that was to stay."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.file_system import Buffer, RealFileSystem
from signalbox.storage.interrupted_swaps import complete_swaps
from signalbox.storage.segments.transaction_index import AbortedTransaction
from tests.storage.cleaner.cleaning import CompactedLog, keyed, marker

pytestmark = pytest.mark.spec("D6")

CHANGES = ("open", "pwrite", "fsync", "truncate", "rename", "remove", "sync_directory")


class Killed(BaseException):
    """The process ends."""


class MortalFileSystem(FaultyFileSystem):
    """Kills the process before its nth change of the disk; a write is torn: half of it is on the disk."""

    def __init__(self, after: int | None = None) -> None:
        super().__init__()
        self.after = after
        self.changes: list[str] = []

    def pwrite(self, fd: int, data: Buffer, position: int) -> int:
        self._count(
            "pwrite", lambda: super(MortalFileSystem, self).pwrite(fd, memoryview(data)[: len(data) // 2], position)
        )
        return super().pwrite(fd, data, position)

    def rename(self, old: str, new: str) -> None:
        self._count(f"rename {Path(new).suffix}")
        super().rename(old, new)

    def remove(self, path: str) -> None:
        self._count("remove")
        super().remove(path)

    def truncate(self, fd: int, size: int) -> None:
        self._count("truncate")
        super().truncate(fd, size)

    def fsync(self, fd: int) -> None:
        self._count("fsync")
        super().fsync(fd)

    def sync_directory(self, path: str) -> None:
        self._count("sync_directory")
        super().sync_directory(path)

    def _count(self, change: str, torn: Callable[[], object] = lambda: None) -> None:
        if self.after == len(self.changes):
            torn()
            raise Killed(change)
        self.changes.append(change)


def filled(folder: Path, file_system: MortalFileSystem) -> CompactedLog:
    log = CompactedLog(folder, file_system=file_system)
    log.append(keyed({"a": "1", "b": "1"}), keyed({"c": None, "d": "1"}))
    log.append(keyed({"aborted": "2"}, producer=(7, 0, 0), transactional=True), marker(7, commit=False))
    for number in range(40):
        log.append(keyed({"b": str(number), f"k{number % 20}": "x" * 100}), roll=False)
    log.append(keyed({"c": "3"}))
    log.append(keyed({"e": "tail"}), roll=False)
    log.logs.checkpoint()
    return log


def aborted(log: CompactedLog) -> list[AbortedTransaction]:
    return log.log.body.aborted_transactions(0, log.log.log_end_offset)


def committed(log: CompactedLog) -> dict[str, str | None]:
    return {key: value for key, value in log.table().items() if key != "aborted"}


# A round that is dropped removes its files; here its process is dead by then.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_kill_at_each_change_of_the_disk_loses_nothing(tmp_path: Path) -> None:
    uninterrupted = filled(tmp_path / "uninterrupted", MortalFileSystem())
    assert isinstance(uninterrupted.file_system, MortalFileSystem)
    expected, before = committed(uninterrupted), len(uninterrupted.file_system.changes)
    assert uninterrupted.clean()
    changes = uninterrupted.file_system.changes[before:]
    assert committed(uninterrupted) == expected
    kept = aborted(uninterrupted)
    assert [transaction.producer_id for transaction in kept] == [7]  # an emptied batch of it is left
    assert {"rename .swap", "rename .deleted", "rename .log", "rename .txnindex", "pwrite", "fsync"} <= set(changes)
    for step in range(len(changes)):
        log = filled(tmp_path / f"{step}", file_system := MortalFileSystem())
        file_system.after = len(file_system.changes) + step
        with pytest.raises(Killed):
            log.clean()
        log.kill()
        survivor = CompactedLog(tmp_path / f"{step}")
        assert committed(survivor) == expected, changes[step]
        assert aborted(survivor) == kept, changes[step]
        assert survivor.log.log_end_offset == uninterrupted.log.log_end_offset, changes[step]
        names = [path.name for path in (tmp_path / f"{step}").rglob("0*")]
        assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
        assert survivor.clean() or survivor.log.body.compacted_to
        assert committed(survivor) == expected, changes[step]
        survivor.append(keyed({"a": "later"}))
        assert committed(survivor) == {**expected, "a": "later"}


def make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"")


def left(folder: Path) -> list[str]:
    complete_swaps(str(folder), RealFileSystem())
    return sorted(path.name for path in folder.iterdir())


def test_an_incomplete_new_segment_is_removed(tmp_path: Path) -> None:
    make(tmp_path, f"{0:020}.log", f"{0:020}.index", f"{0:020}.log.swap", f"{0:020}.index.cleaned")
    assert left(tmp_path) == [f"{0:020}.index", f"{0:020}.log"]


def test_swaps_before_the_incomplete_segment_are_completed(tmp_path: Path) -> None:
    make(tmp_path, f"{0:020}.log", f"{0:020}.log.swap", f"{9:020}.log", f"{9:020}.log.swap", f"{9:020}.log.cleaned")
    (tmp_path / f"{0:020}.log").write_bytes(b"old")
    (tmp_path / f"{9:020}.log").write_bytes(b"old")
    assert left(tmp_path) == [f"{0:020}.log", f"{9:020}.log"]
    assert (tmp_path / f"{0:020}.log").read_bytes() == b""
    assert (tmp_path / f"{9:020}.log").read_bytes() == b"old"


def test_the_transaction_index_is_swapped_with_its_segment(tmp_path: Path) -> None:
    make(tmp_path, f"{0:020}.log", f"{0:020}.txnindex", f"{0:020}.log.swap")  # no aborted transaction is left
    make(tmp_path, f"{9:020}.log.swap", f"{9:020}.txnindex.swap", f"{9:020}.txnindex")
    (tmp_path / f"{0:020}.txnindex").write_bytes(b"old")
    (tmp_path / f"{9:020}.txnindex").write_bytes(b"old")
    assert left(tmp_path) == [f"{0:020}.log", f"{9:020}.log", f"{9:020}.txnindex"]
    assert (tmp_path / f"{9:020}.txnindex").read_bytes() == b""


def test_a_kill_during_the_removal_of_an_incomplete_segment_does_not_make_it_complete(tmp_path: Path) -> None:
    names = [f"{0:020}{suffix}" for suffix in (".log.swap", ".index.swap", ".timeindex.cleaned", ".txnindex.cleaned")]
    for step in range(len(names) + 1):
        folder = tmp_path / f"{step}"
        folder.mkdir()
        make(folder, f"{0:020}.log", *names)
        (folder / f"{0:020}.log").write_bytes(b"old")
        with suppress(Killed):
            complete_swaps(str(folder), MortalFileSystem(step))
        assert left(folder) == [f"{0:020}.log"]
        assert (folder / f"{0:020}.log").read_bytes() == b"old"


def test_a_new_segment_replaces_all_that_it_contains(tmp_path: Path) -> None:
    """As Apache Kafka leaves it, if it ends before the old segments are renamed."""
    log = filled(tmp_path, MortalFileSystem())
    folder = Path(log.log.body.folder)
    before = committed(log)
    old = {path.name: path.read_bytes() for path in folder.iterdir() if path.name[0] == "0"}
    assert log.clean()
    for path in list(folder.iterdir()):
        if path.suffix in (".log", ".index", ".timeindex") and path.read_bytes() != old[path.name]:
            path.rename(f"{path}.swap")
    for name, data in old.items():
        (folder / name).write_bytes(data)
    log.logs.checkpoint()
    log.kill()
    survivor = CompactedLog(tmp_path)
    assert committed(survivor) == before
    assert survivor.offsets() == log.offsets()


def test_indexes_without_a_log_and_temporary_files_are_removed(tmp_path: Path) -> None:
    make(tmp_path, f"{0:020}.log", f"{5:020}.index", f"{5:020}.timeindex", "x.tmp", f"{5:020}.log.deleted", "notes")
    make(tmp_path, f"{5:020}.txnindex")
    assert left(tmp_path) == [f"{0:020}.log", "notes"]
