import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.config.start_error import StartError
from signalbox.common.ids import ZERO_UUID, TopicPartition, new_uuid
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.append_queue import OnWritten
from signalbox.storage.directories.log_directory import LogDirectory, LogDirectoryLocked
from signalbox.storage.directories.meta_properties import MetaPropertiesFault
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager
from tests.storage.workbench import NOW_MS, TOPIC_ID, TP, append, batch, offsets

OTHER = TopicPartition("flights", 1)


def manager(
    *paths: Path, file_system: FaultyFileSystem | None = None, clock: ManualClock | None = None, start: bool = True
) -> LogManager:
    made = LogManager([str(path) for path in paths], file_system or FaultyFileSystem(), clock or ManualClock())
    if start:
        made.start("cluster-a", 1)
    return made


def die(of: LogManager) -> None:
    """What the kernel does when a process is killed: it releases the locks."""
    for directory in of.directories:
        directory.unlock()


def test_a_partitions_life(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    assert logs.get(TP) is None
    log = logs.create(TP, TOPIC_ID, LogConfig())
    assert logs.create(TP, TOPIC_ID, LogConfig()) is log
    assert logs.get(TP) is log
    append(log, batch(3))
    log.high_watermark = 2
    logs.close()
    with pytest.raises(KafkaError, match="flights-0 is closed"):
        append(log, batch(1))
    assert {entry.name for entry in tmp_path.iterdir()} == {
        ".kafka_cleanshutdown",
        ".lock",
        "flights-0",
        "gap-offset-checkpoint",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    }
    again = manager(tmp_path)
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    log = next(iter(again))
    assert (log.topic_partition, log.topic_id, log.log_end_offset, log.high_watermark) == (TP, TOPIC_ID, 3, 2)
    assert log.body.recovery_point == 3
    again.close()


def test_written_records_survive_sigkill(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.create(TP, TOPIC_ID, LogConfig())
    append(log, batch(3), batch(2))
    log.high_watermark = 5
    logs.checkpoint()
    log.append_as_leader(batch(2), 0, NOW_MS)  # accepted, but never written
    die(logs)
    again = manager(tmp_path)
    found = again.get(TP)
    assert found is not None
    assert (offsets(found), found.high_watermark) == ([0, 1, 2, 3, 4], 5)
    again.close()


def test_one_flush_writes_all_logs_and_calls_all_callbacks(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    logs = manager(tmp_path, file_system=disk)
    acknowledged: list[tuple[TopicPartition, int]] = []

    def note(partition: TopicPartition) -> OnWritten:
        return lambda info, error: acknowledged.append((partition, info.first_offset))

    for partition in (TP, OTHER):
        log = logs.create(partition, TOPIC_ID, LogConfig())
        log.assign_epoch_start(0, 0)
        for _ in range(3):
            log.append_as_leader(batch(1), 0, NOW_MS, note(partition))
    disk.calls.clear()
    logs.flush_appends()
    assert disk.calls == {"pwrite": 2}
    assert acknowledged == [(partition, offset) for partition in (TP, OTHER) for offset in range(3)]
    logs.flush_appends()
    assert disk.calls == {"pwrite": 2}
    logs.close()


def test_one_failing_directory_does_not_stop_the_other(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    offline: list[LogDirectory] = []
    paths = [str(tmp_path / name) for name in ("a", "b")]
    logs = LogManager(paths, disk, ManualClock(), on_offline=offline.append)
    logs.start("cluster-a", 1)
    first, second = logs.create(TP, TOPIC_ID, LogConfig()), logs.create(OTHER, TOPIC_ID, LogConfig())
    assert first.body.directory is not second.body.directory
    acknowledged: list[Error | None] = []
    disk.fail("pwrite", errno.ENOSPC, first.body.folder + "/00000000000000000000.log")
    for log in (first, second):
        log.append_as_leader(
            batch(1), 0, NOW_MS, lambda info, error: acknowledged.append(None if error is None else error.error)
        )
    logs.flush_appends()
    assert acknowledged == [Error.KAFKA_STORAGE_ERROR, None]
    assert (logs.is_offline(TP), logs.is_offline(OTHER), logs.has_online_directory) == (True, False, True)
    assert offline == [first.body.directory]
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        logs.create(TopicPartition("old", 0), TOPIC_ID, LogConfig(), is_new=False)
    assert logs.create(TopicPartition("new", 0), TOPIC_ID, LogConfig()).online
    logs.checkpoint()
    logs.run_retention()
    logs.flush_due()
    logs.close()
    marked = [Path(directory.path, ".kafka_cleanshutdown").exists() for directory in logs.directories]
    assert marked == [directory.online for directory in logs.directories]


def test_deleting_renames_at_once_and_removes_later(tmp_path: Path) -> None:
    clock = ManualClock()
    logs = manager(tmp_path, clock=clock)
    log = logs.create(TP, TOPIC_ID, LogConfig(file_delete_delay_ms=1000))
    append(log, batch(1))
    piece = log.read(0, 100)
    logs.delete(TP)
    logs.delete(TP)
    assert logs.get(TP) is None
    assert len([path for path in tmp_path.iterdir() if path.name.endswith("-delete")]) == 1
    assert not isinstance(piece.records, bytes)
    assert len(piece.records.read()) > 60
    for late in (lambda: log.read(0, 100), lambda: append(log, batch(1)), lambda: log.append_as_follower(batch(1))):
        with pytest.raises(KafkaError, match="flights-0 was deleted"):
            late()
    assert all(directory.online for directory in logs.directories)
    assert logs.create(TP, new_uuid(), LogConfig()).log_end_offset == 0
    clock.advance(1000)
    logs.run_retention()
    assert not [path for path in tmp_path.iterdir() if path.name.endswith("-delete")]
    logs.close()


def test_an_interrupted_deletion_goes_on_after_a_start(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    logs.create(TP, TOPIC_ID, LogConfig())
    logs.delete(TP)
    die(logs)
    again = manager(tmp_path)
    assert again.get(TP) is None
    again.run_retention()
    assert not [path for path in tmp_path.iterdir() if path.name.endswith("-delete")]
    again.close()


def test_the_topic_id_of_a_folder_counts(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.create(TP, ZERO_UUID, LogConfig())
    assert logs.create(TP, TOPIC_ID, LogConfig()) is log
    assert log.topic_id == TOPIC_ID
    assert logs.create(TP, ZERO_UUID, LogConfig()) is log
    with pytest.raises(KafkaError) as rejected:
        logs.create(TP, new_uuid(), LogConfig())
    assert rejected.value.error == Error.INCONSISTENT_TOPIC_ID
    logs.close()
    again = manager(tmp_path)
    found = again.get(TP)
    assert found is not None
    assert found.topic_id == TOPIC_ID
    again.close()


def test_a_directory_of_another_node_is_rejected(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    with pytest.raises(LogDirectoryLocked):
        manager(tmp_path)
    logs.close()
    for cluster, node in (("cluster-b", 1), ("cluster-a", 2)):
        other = manager(tmp_path, start=False)
        with pytest.raises(MetaPropertiesFault):
            other.start(cluster, node)
    manager(tmp_path).close()  # the failed starts have released the lock


def test_a_broker_without_a_working_directory_does_not_start(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    disk.fail("make_directory", errno.EROFS)
    with pytest.raises(StartError) as rejected:
        manager(tmp_path / "a", tmp_path / "b", file_system=disk)
    assert [(fault.key, fault.entry) for fault in rejected.value.faults] == [
        ("log.dirs", str(tmp_path / "a")),
        ("log.dirs", str(tmp_path / "b")),
    ]
    assert os.strerror(errno.EROFS) in str(rejected.value)


@pytest.mark.parametrize(("place", "problem"), [("", errno.EEXIST), ("below", errno.ENOTDIR)])
def test_a_file_as_log_directory_is_reported_once(
    tmp_path: Path, place: str, problem: int, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a").write_text("a file")
    path = tmp_path / "a" / place
    with pytest.raises(StartError) as rejected:
        manager(path)
    assert str(rejected.value) == (
        f"log.dirs ({path}): cannot be used: {path}: {os.strerror(problem)}. "
        "Name a folder that this broker can create and write to"
    )
    assert not caplog.records


def test_a_name_that_is_none_is_no_log_directory(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"^log\.dirs .*: embedded null (byte|character in path)\. Name a folder"):
        manager(tmp_path / "a\0b")


def test_a_start_goes_on_with_the_directories_that_work(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a").write_text("a file")
    logs = manager(tmp_path / "a", tmp_path / "b")
    assert [directory.online for directory in logs.directories] == [False, True]
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        f"Log directory {tmp_path / 'a'} goes offline"
    ]
    logs.close()


def test_a_log_start_survives_a_kill(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.create(TP, TOPIC_ID, LogConfig())
    append(log, batch(5))
    log.high_watermark = 5
    log.delete_records_before(3)
    logs.checkpoint()
    assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\nflights 0 3\n"
    die(logs)
    again = manager(tmp_path)
    found = again.get(TP)
    assert found is not None
    assert offsets(found) == [3, 4]
    again.close()


def test_checkpoints_are_never_above_the_log_end(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.create(TP, TOPIC_ID, LogConfig())
    append(log, batch(50))
    log.high_watermark = 50
    log.delete_records_before(40)
    log.flush()
    logs.checkpoint()
    logs.delete(TP)
    again = logs.create(TP, new_uuid(), LogConfig())
    again.append_as_leader(batch(5), 0, NOW_MS)
    logs.flush_appends()
    die(logs)
    found = manager(tmp_path)
    log = next(iter(found))
    assert (offsets(log), log.high_watermark) == ([0, 1, 2, 3, 4], 0)
    log.high_watermark = 5
    log.delete_records_before(4)
    found.checkpoint()
    log.truncate_fully_and_start_at(2)  # an unclean election: the new leader's log is older
    log.append_as_follower(batch(1, offset=2))
    log.flush_appends()
    die(found)
    last = manager(tmp_path)
    assert offsets(next(iter(last))) == [2]
    last.close()


def test_silent_producers_expire(tmp_path: Path) -> None:
    clock = ManualClock()
    logs = manager(tmp_path, clock=clock)
    log = logs.create(TP, TOPIC_ID, LogConfig())
    append(log, batch(1, producer_id=7))
    assert logs.expire_producers(1000) == 0
    clock.advance(1000)
    assert logs.expire_producers(1000) == 1
    assert log.append_as_leader(batch(1, producer_id=7, sequence=99), 0, NOW_MS).first_offset == 1
    logs.close()


def test_flush_due_syncs_overdue_logs(tmp_path: Path) -> None:
    clock = ManualClock()
    logs = manager(tmp_path, clock=clock)
    log = logs.create(TP, TOPIC_ID, LogConfig(flush_ms=500))
    logs.flush_due()
    append(log, batch(1))
    logs.flush_due()
    assert log.body.recovery_point == 0
    clock.advance(500)
    logs.flush_due()
    assert log.body.recovery_point == 1
    logs.close()


def test_checkpoints_of_high_watermarks_alone(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    log = logs.create(TP, TOPIC_ID, LogConfig())
    append(log, batch(5))
    log.high_watermark = 4
    logs.checkpoint_high_watermarks()
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\nflights 0 4\n"
    logs.close()


def test_acknowledged_appends_survive_sigkill(tmp_path: Path) -> None:
    acknowledged = 0
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.storage.appending_process", str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        goal = acknowledged + 2_000
        while acknowledged < goal:
            acknowledged = int(process.stdout.readline())
        process.kill()
        process.communicate()
        logs = manager(tmp_path)
        log = logs.get(TP)
        assert log is not None
        assert log.log_end_offset >= acknowledged
        assert offsets(log) == list(range(log.log_end_offset))
        assert log.body.producers.entries[7].last_sequence == log.log_end_offset - 1
        acknowledged = log.log_end_offset
        die(logs)


@pytest.mark.spec("D3")
@pytest.mark.parametrize("closed", [True, False], ids=["stopped", "killed"])
def test_a_directory_that_has_lost_a_log_counts_as_a_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, closed: bool
) -> None:
    logs = manager(tmp_path)
    for partition in (TP, OTHER):
        append(logs.create(partition, TOPIC_ID, LogConfig()), batch(1))
    logs.checkpoint()
    directory_id = logs.directories[0].directory_id
    logs.close(7) if closed else die(logs)
    shutil.rmtree(tmp_path / str(OTHER))
    lacking = manager(tmp_path)
    assert (lacking.get(OTHER), lacking.directories[0].previous_broker_epoch) == (None, -1)
    assert f"Log directory {tmp_path} has lost the folders of 1 partitions ({OTHER})" in caplog.text
    new_id = lacking.directories[0].directory_id
    assert new_id != directory_id
    lacking.checkpoint()
    die(lacking)
    caplog.clear()
    again = manager(tmp_path)
    assert (again.directories[0].directory_id, caplog.text) == (new_id, "")
    again.close()


@pytest.mark.spec("D3")
def test_a_deleted_log_is_not_lost(tmp_path: Path) -> None:
    logs = manager(tmp_path)
    append(logs.create(TP, TOPIC_ID, LogConfig()), batch(1))
    logs.checkpoint()
    logs.delete(TP)
    die(logs)
    again = manager(tmp_path)
    assert again.directories[0].directory_id == logs.directories[0].directory_id
    die(again)
