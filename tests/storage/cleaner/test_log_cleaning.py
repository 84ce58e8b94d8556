"""Rounds of a real log: what a consumer reads afterwards, and what happens to a log that changes meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.storage.cleaner.cleaning_pass import CleaningPass
from signalbox.storage.cleaner.offset_map import ENTRY_BYTES
from signalbox.storage.cleaner.worker_port import WorkerLimits
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.segments.transaction_index import AbortedTransaction
from tests.storage.cleaner.cleaning import COMPACTED, LIMITS, NO_LIMIT, CompactedLog, keyed, marker, records_in, steps
from tests.storage.workbench import TOPIC_ID, TP, finished

pytestmark = pytest.mark.spec("D6")


def numbered(number: int) -> bytes:
    return keyed({"a": f"{number}", f"k{number}": "x" * 100})


def filled(tmp_path: Path, batches: int = 60) -> CompactedLog:
    log = CompactedLog(tmp_path)
    for number in range(batches):
        log.append(numbered(number), roll=False)
    log.log.roll()
    return log


def test_the_last_record_of_each_key_is_left(tmp_path: Path) -> None:
    log = filled(tmp_path)
    before, size = log.table(), log.log.size_bytes
    assert len(log.log.body.segments) > 4
    assert log.clean()
    assert log.table() == before
    assert log.offsets() == [2 * number + 1 for number in range(59)] + [118, 119]
    assert log.log.size_bytes < size
    assert log.log.body.compacted_to == 120
    assert not log.clean()  # nothing is dirty


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_cleaned(tmp_path: Path, compression: str) -> None:
    log = CompactedLog(tmp_path)
    log.append(keyed({"a": "1", "b": "1", "c": "1"}, compression=compression))
    log.append(keyed({"b": "2"}, compression=compression))
    assert log.clean()
    assert [(r.offset, r.key, r.value) for r in records_in(log.log)] == [
        (0, b"a", b"1"), (2, b"c", b"1"), (3, b"b", b"2")
    ]  # fmt: skip


def test_the_new_segment_has_the_time_of_the_last_one_that_it_replaces(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    for number in range(3):
        log.append(keyed({"a": str(number)}, now_ms=-1))
        os.utime(log.log.body.segments[number].path(".log"), ns=(0, (number + 1) * 1_000_000))
    assert log.clean()
    assert [segment.largest_timestamp() for segment in log.log.body.segments][:-1] == [3]


def test_a_log_survives_a_restart_after_its_rounds(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.append(keyed({"k0": "new"}), roll=False)
    assert log.clean()
    before, offsets = log.table(), log.offsets()
    log.logs.checkpoint()
    log.background.close()
    log.kill()
    log.open()
    assert (log.table(), log.offsets()) == (before, offsets)
    assert log.log.body.compacted_to == 120
    log.logs.close()
    log.open()
    assert (log.table(), log.offsets()) == (before, offsets)


def test_a_log_with_more_keys_than_memory_needs_several_rounds(tmp_path: Path) -> None:
    log = filled(tmp_path)
    before, rounds = log.table(), 0
    limits = WorkerLimits(10 * ENTRY_BYTES, 4096, NO_LIMIT)
    log.config = replace(COMPACTED, min_cleanable_dirty_ratio=0.0)
    log.log.update_config(log.config)
    while log.clean(limits):
        rounds += 1
    assert rounds > 5
    assert log.table() == before
    assert log.offsets() == [2 * number + 1 for number in range(59)] + [118, 119]


def test_a_tombstone_is_left_until_its_delete_horizon(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path, replace(COMPACTED, delete_retention_ms=1_000, min_cleanable_dirty_ratio=0.0))
    log.append(keyed({"a": "1"}), keyed({"a": None, "b": "1"}))
    assert log.clean()
    assert log.table() == {"a": None, "b": "1"}
    timestamps = [record.timestamp for record in records_in(log.log)]
    assert timestamps == [log.clock.now_ms()] * 2  # although they count from the delete horizon now
    log.clock.advance(999)
    log.append(keyed({"c": "1"}))
    assert log.clean()
    assert log.table() == {"a": None, "b": "1", "c": "1"}
    log.clock.advance(1)
    log.append(keyed({"d": "1"}))
    assert log.clean()
    assert log.table() == {"b": "1", "c": "1", "d": "1"}


def test_gaps_behind_the_map_do_not_make_a_log_corrupt(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    log.append(
        keyed({"a": "1", "b": "1"}),
        keyed({"c": "1"}),
        keyed({"a": "aborted"}, producer=(7, 0, 0), transactional=True),
        marker(7, commit=False),
        keyed({"d": "1"}),
    )
    log.append(keyed({"e": "1"}, producer=(7, 0, 1)), roll=False)
    assert log.clean(WorkerLimits(2 * (ENTRY_BYTES + 1), 4096, NO_LIMIT))
    assert log.log.body.compacted_to == 2
    assert log.offsets() == [0, 1, 2, 4, 5, 6]
    for offset in range(7):
        assert len(log.log.read(offset, 1 << 20))
    log.kill()
    log.open()
    assert log.offsets() == [0, 1, 2, 4, 5, 6]


def test_an_open_transaction_is_not_cleaned(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    log.append(keyed({"a": "1"}), keyed({"a": "2"}))
    log.append(keyed({"a": "3"}, producer=(7, 0, 0), transactional=True))
    log.append(keyed({"a": "4"}))
    assert log.clean()
    assert log.offsets() == [1, 2, 3]
    log.append(marker(7, commit=True))
    assert log.clean()
    assert log.offsets() == [3, 4]


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("segments", [1, 2])
def test_a_marker_behind_the_cleanable_part_decides_its_transaction(
    tmp_path: Path, commit: bool, segments: int
) -> None:
    log = CompactedLog(tmp_path, replace(COMPACTED, min_compaction_lag_ms=1_000))
    log.append(keyed({"a": "1"}), keyed({"a": "2"}, producer=(7, 0, 0), transactional=True))
    log.clock.advance(2_000)
    if segments == 2:
        log.append(keyed({"b": "1"}, now_ms=log.clock.now_ms()))  # too young
    log.append(marker(7, commit=commit, now_ms=log.clock.now_ms()), roll=False)
    assert log.clean()
    assert log.log.body.compacted_to == 2
    assert log.offsets()[0] == (1 if commit else 0)
    assert log.table()["a"] == ("2" if commit else "1")
    assert not log.clean()


def test_a_transaction_whose_marker_is_not_committed_yet_is_not_cleaned(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    log.append(keyed({"a": "1"}), keyed({"a": "2"}))
    log.append(keyed({"a": "3"}, producer=(7, 0, 0), transactional=True))
    log.append(marker(7, commit=False))
    log.log.high_watermark = 3
    assert log.clean()
    assert log.offsets() == [1, 2, 3]


def test_the_last_batch_of_an_active_producer_stays_without_records(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    log.append(keyed({"a": "1"}, producer=(5, 3, 0)), keyed({"a": "2"}, producer=(5, 3, 1)))
    log.append(keyed({"a": "3"}), keyed({"b": "3"}))
    assert log.clean()
    assert log.offsets() == [2, 3]
    log.kill()
    for name in tmp_path.rglob("*.snapshot"):
        name.unlink()
    log.open()
    entry = log.log.producers[5]
    assert (entry.producer_epoch, entry.last_sequence, entry.last_offset) == (3, 1, 1)


def test_a_batch_without_records_does_not_have_the_largest_timestamp(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    now_ms = log.clock.now_ms()
    log.append(keyed({"a": "1"}, producer=(5, 3, 0), now_ms=now_ms + 1_000))
    log.append(keyed({"a": "2"}, now_ms=now_ms), keyed({"b": "3"}, now_ms=now_ms + 1))
    assert log.clean()
    for _ in range(2):
        found = finished(log.log.offset_of_max_timestamp())
        assert found is not None
        assert (found.timestamp, found.offset) == (now_ms + 1, 2)
        log.kill()
        for path in tmp_path.rglob("*.timeindex"):
            path.unlink()
        log.open()


class RecordingPass(CleaningPass):
    """Records the last records of producers, and the aborted transactions."""

    def __init__(self, file_system: FileSystem) -> None:
        super().__init__(file_system)
        self.parts: list[Mapping[int, tuple[int, int]]] = []
        self.aborted: list[list[int]] = []

    def add_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        super().add_aborted(aborted)
        self.aborted.append([transaction.first_offset for transaction in aborted])

    def add_last_records(self, last_records: Mapping[int, tuple[int, int]]) -> None:
        super().add_last_records(last_records)
        self.parts.append(last_records)


def test_the_last_records_of_many_producers_are_sent_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.storage.cleaner.log_cleaning._ROWS_AT_ONCE", 2)
    log = CompactedLog(tmp_path)
    log.append(*(keyed({"a": "1"}, producer=(number, 3, 0)) for number in range(3)))
    log.append(keyed({"a": "1"}))
    log.append(keyed({"a": "1"}, producer=(9, 3, 0)), roll=False)  # in the active segment
    log.worker = worker = RecordingPass(log.file_system)
    assert log.clean()
    assert worker.parts == [{0: (0, 3), 1: (1, 3)}, {2: (2, 3)}]
    assert [batch.base_offset for batch in log.log.body.segments[0].headers()] == [0, 1, 2, 3]  # those three are empty


def test_many_aborted_transactions_are_sent_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.storage.cleaner.log_cleaning._ROWS_AT_ONCE", 2)
    log = CompactedLog(tmp_path)
    for number in range(3):
        log.append(keyed({"a": "1"}, producer=(number, 0, 0), transactional=True), roll=False)
    for number in range(3, 6):
        log.append(keyed({"b": "1"}, producer=(number, 0, 0), transactional=True), marker(number, commit=False))
    log.append(*(marker(number, commit=False) for number in range(3)), roll=False)
    log.worker = worker = RecordingPass(log.file_system)
    assert log.clean()
    spanning, own = [[0, 1], [2]], [[3], [5], [7]]
    assert worker.aborted == [*spanning, *own, *spanning, [3, 5], [7]]  # the map, and the rewriting of a group
    assert log.offsets() == [4, 6, 8, 9, 10, 11]  # the markers


def test_segments_are_merged_up_to_the_segment_size(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.append(keyed({f"k{number}": None for number in range(60)}))
    assert log.clean()
    assert log.clean() is False
    log.append(numbered(99), roll=True)
    log.config = replace(COMPACTED, min_cleanable_dirty_ratio=0.0)
    log.log.update_config(log.config)
    assert log.clean()
    assert len(log.log.body.segments) == 2  # one, and the active one
    assert all(segment.written <= COMPACTED.segment_bytes for segment in log.log.body.segments)


def round_of(log: CompactedLog) -> Iterator[None]:
    """The steps of a round of a log that is due."""
    target = log.cleaner.next_log()
    assert target is not None
    return steps(log.cleaner.clean(target, log.worker, LIMITS))


@pytest.mark.parametrize("change", ["truncate", "restart", "delete", "recreate", "move", "policy", "retention"])
def test_a_log_that_changes_during_a_round_is_left_as_it_is(tmp_path: Path, change: str) -> None:
    probe = filled(tmp_path / "probe")
    target = probe.cleaner.next_log()
    assert target is not None
    total = sum(1 for _ in steps(probe.cleaner.clean(target, probe.worker, LIMITS)))
    for step in range(total):
        log = filled(tmp_path / f"{step}")
        target = log.cleaner.next_log()
        assert target is not None
        expected: dict[bytes | None, bytes | None] = {}
        for number, _ in enumerate(steps(log.cleaner.clean(target, log.worker, LIMITS))):
            if number == step:
                expected = _change(log, change)
        assert log.logs.directories[0].online
        current = log.logs.get(TP)
        if change == "delete":
            assert current is None
        else:
            assert current is not None
            assert {r.key: r.value for r in records_in(current)} == expected
        log.remove_retired()
        assert not list((tmp_path / f"{step}").rglob("*.cleaned"))
        assert not log.cleaner.is_uncleanable(log.log)


def _change(log: CompactedLog, change: str) -> dict[bytes | None, bytes | None]:
    if change == "truncate":
        log.log.truncate_to(50)
    elif change == "restart":
        log.log.truncate_fully_and_start_at(0)
        log.append(numbered(1))
    elif change == "delete":
        log.logs.delete(TP)
        return {}
    elif change == "recreate":
        log.logs.delete(TP)
        log.log = log.logs.create(TP, TOPIC_ID, COMPACTED)
        log.append(numbered(2), numbered(3))
    elif change == "policy":
        log.log.update_config(replace(COMPACTED, cleanup_policy=("delete",)))
    elif change == "move":
        log.logs.moves.move(TP, str(log.folder / "b"))
        log.background.close()
        assert log.log.body.directory.path == str(log.folder / "b")
    elif change == "retention":
        log.log.delete_records_before(60)
    return {r.key: r.value for r in records_in(log.log)}


def test_an_error_of_the_disk_takes_the_directory_offline(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.file_system.fail("pwrite", path_part=".cleaned")  # type: ignore[attr-defined]
    assert log.clean()
    assert not log.logs.directories[0].online


def test_a_corrupt_batch_makes_the_log_uncleanable(tmp_path: Path) -> None:
    log = filled(tmp_path)
    segment = log.log.body.segments[1]
    with open(segment.path(".log"), "r+b") as file:
        file.seek(100)
        file.write(b"!")
    assert log.clean()
    assert log.cleaner.is_uncleanable(log.log)
    assert log.log.corruption is not None
    assert log.log.corruption.offset == segment.base_offset
    assert not log.clean()
    assert log.logs.directories[0].online
    log.log.truncate_to(0)  # it is rebuilt from the leader
    assert not log.cleaner.is_uncleanable(log.log)


def test_the_files_of_an_aborted_round_are_removed_beside_the_next_round(tmp_path: Path) -> None:
    log = filled(tmp_path)
    before = log.table()
    writing = -1  # the step before the first files are written
    for step, _ in enumerate(round_of(log)):
        if writing < 0 and list(tmp_path.rglob("*.cleaned")):
            writing = step
            log.log.update_config(replace(COMPACTED, cleanup_policy=("delete",)))
    assert log.log.body.compacted_to == 0
    log.log.update_config(COMPACTED)
    log.cleaner.end_backoff()
    for step, _ in enumerate(round_of(log)):
        if step == writing:
            log.remove_retired()
    assert log.logs.directories[0].online
    assert log.table() == before
    assert len(log.offsets()) == 61


def test_replaced_segments_are_removed_during_the_round(tmp_path: Path) -> None:
    log = filled(tmp_path, 100)
    log.config = replace(COMPACTED, file_delete_delay_ms=1_000)
    log.log.update_config(log.config)
    most = 0
    for _ in round_of(log):
        log.background.close()
        log.clock.advance(1_000)
        most = max(most, len(list(tmp_path.rglob("*.log.deleted"))))
    assert log.log.body.compacted_to == 200
    assert 0 < most <= 2
    log.background.close()
    log.cleaner.end_backoff()
    log.background.close()
    assert not list(tmp_path.rglob("*.deleted"))


def test_a_reader_of_a_replaced_segment_finishes(tmp_path: Path) -> None:
    log = filled(tmp_path)
    piece = log.log.read(0, 1 << 20)
    assert not isinstance(piece.records, bytes)
    before = piece.records.read()
    assert log.clean()
    assert piece.records.read() == before
