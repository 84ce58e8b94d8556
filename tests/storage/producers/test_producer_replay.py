import errno
from pathlib import Path

import pytest

from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_config import LogConfig
from signalbox.storage.producers.producer_replay import note_batch, rebuild_transaction_index, replay_producers
from signalbox.storage.producers.producer_state import ProducerStates
from signalbox.storage.segments.transaction_index import AbortedTransaction
from tests.storage.workbench import TP, append, append_marker, append_transactional, batch, new_log, reopened

pytestmark = pytest.mark.spec("D4")

DISK = RealFileSystem()
SMALL = LogConfig(segment_bytes=400)


def test_snapshot_and_batches_behind_it_give_the_state_before_each_offset(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    for number in range(20):
        append(log, batch(2, producer_id=5, sequence=number * 2))
    assert len(log.body.segments) > 4
    folder = str(tmp_path / str(TP))
    for end in range(2, 41, 2):
        states = replay_producers(DISK, folder, log.body.segments, 40)
        assert states.entries[5].last_sequence == 39
        at_end = replay_producers(DISK, folder, log.body.segments, end)
        assert at_end.entries[5].last_sequence == end - 1
        assert at_end.entries[5].last_offset == end - 1


def test_a_corrupt_snapshot_is_skipped(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    for number in range(20):
        append(log, batch(2, producer_id=5, sequence=number * 2))
    newest = sorted((tmp_path / str(TP)).glob("*.snapshot"))[-1]
    newest.write_bytes(b"rubbish")
    states = replay_producers(DISK, str(tmp_path / str(TP)), log.body.segments, 40)
    assert states.entries[5].last_sequence == 39
    assert newest.read_bytes() != b"rubbish", "the segment with the end has one again"


@pytest.mark.spec("D5")
def test_markers_are_replayed(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, 5)
    open_state = replay_producers(DISK, log.body.folder, log.body.segments, 1)
    assert open_state.entries[5].transaction_first_offset == 0
    append_marker(log, 5, coordinator_epoch=9)
    closed = replay_producers(DISK, log.body.folder, log.body.segments, 2)
    assert closed.entries[5].transaction_first_offset == -1
    assert closed.entries[5].coordinator_epoch == 9
    assert closed.unreplicated == {0: 1}


@pytest.mark.spec("D5")
def test_the_transaction_index_is_rebuilt_from_the_markers(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(segment_bytes=300))
    append_transactional(log, 5)
    append_transactional(log, 6)
    append_transactional(log, 7)
    append_marker(log, 5, is_commit=True)
    append_marker(log, 6, is_commit=False)
    append_marker(log, 6, is_commit=False)  # of no transaction
    append_marker(log, 7, is_commit=False)
    segments = log.body.segments
    assert len(segments) > 2
    written = [log.body.transaction_index(segment).entries() for segment in segments]
    assert [entry for entries in written for entry in entries] == [
        AbortedTransaction(6, 1, 4, 2),
        AbortedTransaction(7, 2, 6, 7),
    ]
    for segment, entries in zip(segments, written, strict=True):
        rebuild_transaction_index(DISK, log.body.folder, segments, segment)
        assert segment.transaction_index.entries() == entries


def test_without_snapshots_a_recovery_reads_the_log_twice_and_not_once_per_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for the transaction indexes of all segments, and once for the producers at the end."""
    log = new_log(tmp_path, LogConfig(segment_bytes=300))
    for producer_id in range(30):
        append_transactional(log, producer_id)
        append_marker(log, producer_id, is_commit=False)
    written = [log.body.transaction_index(segment).entries() for segment in log.body.segments]
    assert len(written) > 10
    folder = tmp_path / str(TP)
    for path in (*folder.glob("*.snapshot"), *folder.glob("*.txnindex")):
        path.unlink()
    noted = list[int]()

    def counting(states: ProducerStates, batch: BatchHeader, data: bytes) -> AbortedTransaction | None:
        noted.append(batch.base_offset)
        return note_batch(states, batch, data)

    monkeypatch.setattr("signalbox.storage.producers.producer_replay.note_batch", counting)
    again = reopened(tmp_path, LogConfig(segment_bytes=300))
    assert [again.body.transaction_index(segment).entries() for segment in again.body.segments] == written
    assert len(noted) <= 2 * 60
    assert again.producers.keys() == log.producers.keys()


def test_a_missing_snapshot_of_the_last_segment_is_saved_and_used(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    for number in range(20):
        append(log, batch(2, producer_id=5, sequence=number * 2))
    snapshots = sorted((tmp_path / str(TP)).glob("*.snapshot"))
    contents = snapshots[-1].read_bytes()
    for path in snapshots:
        path.unlink()
    states = replay_producers(DISK, log.body.folder, log.body.segments, 40)
    assert states.entries[5].last_sequence == 39
    assert sorted((tmp_path / str(TP)).glob("*.snapshot")) == snapshots[-1:]
    assert snapshots[-1].read_bytes() == contents


def test_a_snapshot_that_cannot_be_saved_does_not_stop_the_replay(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    for number in range(20):
        append(log, batch(2, producer_id=5, sequence=number * 2))
    for path in (tmp_path / str(TP)).glob("*.snapshot"):
        path.unlink()

    disk = FaultyFileSystem()
    disk.fail("open", errno.ENOSPC, ".snapshot.tmp")
    assert replay_producers(disk, log.body.folder, log.body.segments, 40).entries[5].last_sequence == 39
    assert list((tmp_path / str(TP)).glob("*.snapshot*")) == []
