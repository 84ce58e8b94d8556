"""Transactions in one log (KIP-98): last stable offset, transaction index."""

import os
from pathlib import Path

import pytest

from signalbox.protocol.error_table import KafkaError
from signalbox.storage import log_body
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.last_run import LastRun
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.segments.transaction_index import AbortedTransaction
from tests.storage.workbench import NOW_MS, append, append_marker, append_transactional, batch, new_log, reopened

pytestmark = pytest.mark.spec("D5")

SMALL = LogConfig(segment_bytes=300)
PID = 5


def commit(log: Log) -> None:
    """All in-sync replicas have the log."""
    log.high_watermark = log.log_end_offset


def aborted_in(log: Log, offset: int, max_bytes: int = 1 << 20) -> list[int]:
    """The first offsets of the aborted transactions that a reader of committed records gets at `offset`."""
    records = log.read(offset, max_bytes, log.last_stable_offset)
    return [aborted.first_offset for aborted in log.aborted_transactions(offset, records)]


# -- last stable offset


def test_the_last_stable_offset_waits_for_the_marker_and_for_its_replication(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3))
    append_transactional(log, PID)
    assert (log.high_watermark, log.last_stable_offset) == (0, 0)
    commit(log)
    assert (log.high_watermark, log.last_stable_offset) == (4, 3)
    append_marker(log, PID)
    assert log.last_stable_offset == 3
    commit(log)
    assert log.last_stable_offset == 5


def test_deleted_records_are_not_unstable(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, PID, count=5)
    commit(log)
    log.delete_records_before(3)
    assert log.last_stable_offset == 3


def test_a_truncated_marker_opens_its_transaction_again(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, PID)
    append_marker(log, PID, is_commit=False)
    commit(log)
    assert log.last_stable_offset == 2
    log.truncate_to(1)
    assert log.last_stable_offset == 0
    assert log.producers[PID].transaction_first_offset == 0
    append_marker(log, PID)
    commit(log)
    assert log.last_stable_offset == 2
    assert aborted_in(log, 0) == []


def test_a_new_process_has_the_same_last_stable_offset(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    for producer_id in range(6):
        append_transactional(log, producer_id)
    append_marker(log, 0)
    append_marker(log, 2)
    commit(log)
    assert log.last_stable_offset == 1
    log.close()
    after = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=8))
    after.restore_high_watermark(8)
    assert after.last_stable_offset == 1


# -- transaction index


def test_readers_get_the_aborted_transactions_of_their_records(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    append_transactional(log, 1)
    append_transactional(log, 2)
    append(log, batch(1))
    append_marker(log, 1, is_commit=False)
    append_marker(log, 2, is_commit=True)
    append_transactional(log, 1, sequence=1)
    append_marker(log, 1, is_commit=False)
    commit(log)
    assert len(log.body.segments) > 2
    assert aborted_in(log, 0) == [0]
    assert aborted_in(log, 3, max_bytes=1) == [0, 5]  # 5 begins behind the records, before the next index entry
    assert aborted_in(log, 4, max_bytes=1) == [5]
    assert aborted_in(log, 5) == [5]
    assert log.aborted_transactions(7, log.read(7, 1 << 20)) == []


def test_a_follower_has_the_same_transactions_as_its_leader(tmp_path: Path) -> None:
    leader, follower = new_log(tmp_path / "1", SMALL), new_log(tmp_path / "2", SMALL)
    append_transactional(leader, 1)
    append_transactional(leader, 2)
    append_marker(leader, 2, is_commit=False)
    append_marker(leader, 1, is_commit=False)
    while follower.log_end_offset < leader.log_end_offset:
        records = leader.read(follower.log_end_offset, 1 << 20).records
        follower.append_as_follower(records if isinstance(records, bytes) else records.read())
        follower.flush_appends()
    for log in (leader, follower):
        log.flush()
    names = sorted(name for name in os.listdir(leader.body.folder) if name.endswith((".txnindex", ".snapshot")))
    assert names
    for name in names:
        assert (Path(leader.body.folder) / name).read_bytes() == (Path(follower.body.folder) / name).read_bytes()


@pytest.mark.parametrize("clean", [True, False])
def test_a_new_process_reads_or_rebuilds_the_index(tmp_path: Path, clean: bool) -> None:
    log = new_log(tmp_path, SMALL)
    for producer_id in range(1, 5):
        append_transactional(log, producer_id)
    for producer_id in range(1, 5):
        append_marker(log, producer_id, is_commit=producer_id % 2 == 0)
    entries = [log.body.transaction_index(segment).entries() for segment in log.body.segments]
    assert [entry for segment in entries for entry in segment] == [
        AbortedTransaction(1, 0, 4, 1),
        AbortedTransaction(3, 2, 6, 3),
    ]
    log.close()
    if not clean:
        for file in Path(log.body.folder).glob("*.txnindex"):
            file.unlink()
    after = reopened(tmp_path, SMALL, LastRun(clean=clean, recovery_point=8 if clean else 0))
    assert [after.body.transaction_index(segment).entries() for segment in after.body.segments] == entries


def test_a_corrupt_index_is_rebuilt_when_it_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = new_log(tmp_path, SMALL)
    append_transactional(log, PID)
    append_marker(log, PID, is_commit=False)
    append(log, *[batch(1) for _ in range(10)])
    log.close()
    [file] = Path(log.body.folder).glob("*.txnindex")
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    after = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=12))
    commit(after)
    assert aborted_in(after, 0) == [0]
    assert "Corrupt transaction index rebuilt" in caplog.text
    assert file.read_bytes() == content


def test_recovery_removes_the_entries_of_lost_markers(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, PID)
    append_marker(log, PID, is_commit=False)
    log.close()
    data = Path(log.body.segments.active.path(".log"))
    data.write_bytes(data.read_bytes()[:-1])
    after = reopened(tmp_path)
    assert after.log_end_offset == 1
    assert after.body.transaction_index(after.body.segments.active).entries() == []
    assert after.producers[PID].transaction_first_offset == 0


def test_truncation_into_an_older_segment_cuts_its_index(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    append_transactional(log, 1)
    append_transactional(log, 2)
    append_marker(log, 1, is_commit=False)
    append_marker(log, 2, is_commit=False)
    append(log, *[batch(1) for _ in range(10)])
    log.close()
    after = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=14))
    after.truncate_to(3)
    after.flush()
    entries = [entry for segment in after.body.segments for entry in after.body.transaction_index(segment).entries()]
    assert entries == [AbortedTransaction(1, 0, 2, 1)]


def test_a_segment_is_rolled_when_its_transaction_index_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_body, "MAX_ENTRIES", 2)
    log = new_log(tmp_path)
    for number in range(5):
        append_transactional(log, PID, sequence=number)
        append_marker(log, PID, is_commit=False)
    assert [len(log.body.transaction_index(segment)) for segment in log.body.segments] == [2, 2, 1]
    commit(log)
    assert aborted_in(log, 0) == [0, 2]


def test_deleted_segments_take_their_index_along(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    append_transactional(log, PID)
    append_marker(log, PID, is_commit=False)
    append(log, *[batch(1) for _ in range(10)])
    commit(log)
    assert list(Path(log.body.folder).glob("*.txnindex"))
    log.delete_records_before(11)
    log.run_retention(NOW_MS)
    assert not list(Path(log.body.folder).glob("*.txnindex"))
    assert list(Path(log.body.folder).glob("*.txnindex.deleted"))


def test_a_marker_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    log = new_log(tmp_path, file_system=disk)
    append_transactional(log, PID)
    commit(log)
    disk.fail("pwrite")
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        append_marker(log, PID, is_commit=False)
    assert (log.high_watermark, log.last_stable_offset) == (1, 0)
    assert log.producers[PID].transaction_first_offset == 0
    assert log.body.segments.active.transaction_index.entries() == []


@pytest.mark.parametrize("closes_segment", [True, False])
def test_the_index_is_durable_before_the_recovery_point_passes_it(tmp_path: Path, closes_segment: bool) -> None:
    disk = FaultyFileSystem()
    log = new_log(tmp_path, file_system=disk)
    append_transactional(log, PID)
    append_marker(log, PID, is_commit=False)
    disk.fail("fsync", path_part=".txnindex")
    if closes_segment:
        log.roll()
    else:
        with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
            log.flush()
    assert not log.online
    assert log.body.recovery_point == 0
