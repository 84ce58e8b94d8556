import struct
from pathlib import Path

import pytest

from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.log_config import LogConfig
from signalbox.storage.producers.producer_replay import read_coordinator_epoch, replay_producers
from tests.storage.workbench import NOW_MS, TP, append, batch, new_log

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
    assert not newest.exists()


def test_markers_are_replayed(tmp_path: Path) -> None:
    import struct

    from signalbox.protocol.records.record_batch import Record, encode_batch

    log = new_log(tmp_path)
    data = encode_batch(
        [Record(value=b"x", timestamp=NOW_MS)], producer_id=5, producer_epoch=1, base_sequence=0, transactional=True
    )
    log.append_as_leader(data, 0, NOW_MS, from_client=False)
    log.flush_appends()
    open_state = replay_producers(DISK, log.body.folder, log.body.segments, 1)
    assert open_state.entries[5].transaction_first_offset == 0
    marker = Record(key=struct.pack(">hh", 0, 1), value=struct.pack(">hi", 0, 9), timestamp=NOW_MS)
    data = encode_batch([marker], producer_id=5, producer_epoch=1, transactional=True, control=True)
    log.append_as_leader(data, 0, NOW_MS, from_client=False)
    log.flush_appends()
    closed = replay_producers(DISK, log.body.folder, log.body.segments, 2)
    assert closed.entries[5].transaction_first_offset == -1
    assert closed.entries[5].coordinator_epoch == 9


@pytest.mark.spec("D2")
def test_the_coordinator_epoch_of_a_commit() -> None:
    record = Record(key=struct.pack(">hh", 0, 1), value=struct.pack(">hi", 0, 42))
    marker = encode_batch([record], producer_id=1, producer_epoch=0, transactional=True, control=True, timestamp_ms=1)
    assert read_coordinator_epoch(marker) == 42


@pytest.mark.parametrize("record", [Record(value=b"12345678"), Record(key=b"1234"), Record(key=b"1", value=b"123456")])
def test_anything_else_is_no_marker(record: Record) -> None:
    assert read_coordinator_epoch(encode_batch([record], control=True, timestamp_ms=1)) is None


def test_a_corrupt_marker_is_not_a_marker() -> None:
    assert read_coordinator_epoch(bytes(70)) is None
