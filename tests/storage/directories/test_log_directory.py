import errno
import stat
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.directories.log_directory import (
    UNKNOWN_BROKER_EPOCH,
    LogDirectory,
    LogDirectoryLocked,
    read_and_remove_marker,
    write_marker,
)
from signalbox.storage.files.background import InlineBackground, ThreadBackground
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.file_names import LOCK_FILE
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.files.open_files import OpenFiles
from signalbox.storage.segments.segment import Disk
from tests.storage.workbench import open_directory


def test_a_directory_has_one_owner(tmp_path: Path) -> None:
    first, second = open_directory(tmp_path), open_directory(tmp_path)
    first.lock()
    with pytest.raises(LogDirectoryLocked, match=r"log\.dirs"):
        second.lock()
    first.unlock()
    second.lock()
    second.unlock()


def test_no_other_user_may_open_the_lock_file(tmp_path: Path) -> None:
    lock_file = tmp_path / LOCK_FILE
    lock_file.touch(0o644)  # by an older version
    directory = open_directory(tmp_path)
    directory.lock()
    assert stat.S_IMODE(lock_file.stat().st_mode) == 0o600
    directory.unlock()


def test_the_first_error_takes_it_offline_and_is_reported_once(tmp_path: Path) -> None:
    offline: list[LogDirectory] = []
    disk = Disk(FaultyFileSystem(), OpenFiles())
    directory = LogDirectory(str(tmp_path), disk, InlineBackground(), ManualClock(), offline.append)
    assert directory.online
    with pytest.raises(KafkaError) as failed, directory.guard("writing"):
        raise OSError(errno.EIO, "broken")
    assert failed.value.error == Error.KAFKA_STORAGE_ERROR
    assert (directory.online, offline) == (False, [directory])
    ran = False
    with pytest.raises(KafkaError, match="writing"), directory.guard("something else"):
        ran = True
    assert (ran, offline) == (False, [directory])
    directory.fail(OSError(errno.EIO, "again"), "later")
    assert "writing" in str(directory.offline_reason)


def test_checkpoints_of_the_directory(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    offsets = {TopicPartition("a", 1): 5}
    directory.write_checkpoint("replication-offset-checkpoint", offsets)
    assert directory.read_checkpoint("replication-offset-checkpoint") == offsets
    (tmp_path / "replication-offset-checkpoint").write_text("rubbish")
    assert directory.read_checkpoint("replication-offset-checkpoint") == {}


def test_other_errors_pass_the_guard(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"), directory.guard("reading"):
        raise KafkaError(Error.OFFSET_OUT_OF_RANGE)
    assert directory.online


def test_one_offset_of_a_checkpoint_is_replaced_at_once(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    first, second = TopicPartition("a", 0), TopicPartition("b", 1)
    directory.read_checkpoint("some-checkpoint")
    assert not directory.has_read_checkpoint("some-checkpoint")
    directory.raise_checkpoint("some-checkpoint", first, 3)
    directory.raise_checkpoint("some-checkpoint", second, 4)
    directory.raise_checkpoint("some-checkpoint", first, 5)
    again = open_directory(tmp_path)
    assert again.read_checkpoint("some-checkpoint") == {first: 5, second: 4}
    assert again.has_read_checkpoint("some-checkpoint")
    (tmp_path / "some-checkpoint").write_text("rubbish")
    corrupt = open_directory(tmp_path)
    assert corrupt.read_checkpoint("some-checkpoint") == {}
    assert not corrupt.has_read_checkpoint("some-checkpoint")


def test_the_clean_shutdown_marker_counts_once(tmp_path: Path) -> None:
    write_marker(RealFileSystem(), str(tmp_path), 7)
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":7}'
    assert read_and_remove_marker(RealFileSystem(), str(tmp_path)) == 7
    assert read_and_remove_marker(RealFileSystem(), str(tmp_path)) is None


def test_a_marker_without_an_epoch_is_a_marker(tmp_path: Path) -> None:
    for content in (b"", b"[]", b'{"version":0}', b'{"version":0,"brokerEpoch":"x"}'):
        (tmp_path / ".kafka_cleanshutdown").write_bytes(content)
        assert read_and_remove_marker(RealFileSystem(), str(tmp_path)) == UNKNOWN_BROKER_EPOCH


def test_a_checkpoint_that_was_begun_before_the_shutdown_is_left_to_it(tmp_path: Path) -> None:
    background = ThreadBackground(lambda callback: callback())
    directory = LogDirectory(
        str(tmp_path), Disk(RealFileSystem(), OpenFiles()), background, ManualClock(), lambda directory: None
    )
    offsets = {TopicPartition("t", 0): 7}
    directory.write_checkpoint_later("high-watermarks", offsets)
    background.close()
    later = {TopicPartition("t", 0): 8}
    directory.write_checkpoint_later("high-watermarks", later)
    assert (tmp_path / "high-watermarks").read_text().endswith("t 0 7\n")
    directory.write_checkpoint("high-watermarks", later)
    assert (tmp_path / "high-watermarks").read_text().endswith("t 0 8\n")
