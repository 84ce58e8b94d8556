"""Without free file descriptors no log change is half done. The directory stays online: EMFILE is no disk error."""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.config.start_error import StartError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.files.spare_descriptors import OutOfDescriptors, SpareDescriptors
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager
from tests.descriptors import none_left
from tests.storage.workbench import TOPIC_ID, TP, append, batch, new_log, offsets, reopened

_COUNT = 8


@pytest.fixture
def spare() -> Iterator[SpareDescriptors]:
    made = SpareDescriptors(_COUNT)
    yield made
    made.close()


def test_a_file_is_opened_with_a_spare_one_until_none_is_left(spare: SpareDescriptors, tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    Path(path).touch()
    with none_left():
        opened = []
        for number in range(_COUNT):
            assert spare.is_short() is (number > _COUNT // 2), number
            opened.append(spare.open(path, os.O_RDONLY))
        with pytest.raises(OSError, match="Too many open files"):
            spare.open(path, os.O_RDONLY)
        assert spare.is_short()
        for each in opened[: _COUNT // 2]:
            os.close(each)
        assert not spare.is_short(), "filled up with what has come free"
        for each in opened[_COUNT // 2 :]:
            os.close(each)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_log_directory_stays_online(tmp_path: Path, number: int, caplog: pytest.LogCaptureFixture) -> None:
    log = new_log(tmp_path)
    directory = log.body.directory
    for _ in range(3):
        with pytest.raises(OutOfDescriptors, match="ulimit -n") as rejected, directory.guard("writing a checkpoint"):
            raise OSError(number, os.strerror(number))
        assert rejected.value.error is Error.KAFKA_STORAGE_ERROR
    assert directory.online
    (line,) = caplog.records
    assert line.levelno == logging.WARNING
    assert "stays online" in line.getMessage()


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EACCES])
def test_an_error_of_the_disk_takes_it_offline_as_ever(tmp_path: Path, number: int) -> None:
    log = new_log(tmp_path)
    with pytest.raises(KafkaError), log.body.directory.guard("writing a checkpoint"):
        raise OSError(number, os.strerror(number))
    assert not log.body.directory.online


def _roll(log: Log) -> None:
    append(log, batch(1, offset=log.log_end_offset, size=900), epoch=1)


CHANGES: dict[str, Callable[[Log], object]] = {
    "roll": _roll,
    "truncate": lambda log: log.truncate_to(3),
    "restart": lambda log: log.truncate_fully_and_start_at(100),
    "delete records": lambda log: log.delete_records_before(4),
    "epoch": lambda log: log.assign_epoch_start(9, log.log_end_offset),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_completes_or_does_not_begin(tmp_path: Path, spare: SpareDescriptors, name: str) -> None:
    """With half of the spare descriptors left the change completes. With fewer it is rejected, and succeeds later."""
    results = []
    for folder, left in (("enough", _COUNT), ("half", _COUNT // 2), ("short", _COUNT // 2 - 1)):
        log = _log_of_segments(tmp_path / folder, spare)
        with none_left():
            held = [spare.open(os.devnull, os.O_RDONLY) for _ in range(_COUNT - left)]
            if left < _COUNT // 2:
                before = _state(log)
                with pytest.raises(KafkaError, match="no file descriptor is free"):
                    CHANGES[name](log)
                assert _state(log) == before
            else:
                CHANGES[name](log)
            for each in held:
                os.close(each)
        if left < _COUNT // 2:
            CHANGES[name](log)
        assert log.online
        state = _state(log)
        results.append(state)
        log.close()
        found = reopened(tmp_path / folder)
        assert found.log_end_offset == log.log_end_offset
        assert offsets(found) == state[2]
    assert results[0] == results[1] == results[2]


def _log_of_segments(path: Path, spare: SpareDescriptors) -> Log:
    log = new_log(path, LogConfig(segment_bytes=1_000), RealFileSystem(spare))
    for offset in range(8):
        append(log, batch(1, offset=offset, size=900), epoch=1)
    log.high_watermark = log.log_end_offset
    return log


def _state(log: Log) -> tuple[int, int, list[int], list[int]]:
    return log.log_start_offset, log.log_end_offset, offsets(log), list(log.body.epochs.epochs)


def test_reading_old_segments_leaves_descriptors_for_checkpoints(tmp_path: Path, spare: SpareDescriptors) -> None:
    """The files of old segments are closed again, so that descriptors stay free."""
    logs = LogManager([str(tmp_path)], RealFileSystem(spare), ManualClock())
    logs.start("cluster-a", 1, lambda topic: LogConfig(segment_bytes=1_000))
    log = logs.create(TP, TOPIC_ID, LogConfig(segment_bytes=1_000))
    for offset in range(4 * _COUNT):
        append(log, batch(1, offset=offset, size=900))
    for segment in list(log.body.segments)[:-1]:
        segment.release()
    with none_left():
        for offset in range(4 * _COUNT):
            assert log.read(offset, 100).records
        logs.checkpoint()
    assert f"{TP.topic} {TP.partition} 0" in (tmp_path / "replication-offset-checkpoint").read_text()
    logs.close()


def test_a_start_without_enough_descriptors_names_the_limit_and_loses_nothing(
    tmp_path: Path, spare: SpareDescriptors
) -> None:
    logs = LogManager([str(tmp_path)], RealFileSystem(), ManualClock())
    logs.start("cluster-a", 1)
    append(logs.create(TP, TOPIC_ID, LogConfig()), batch(3))
    logs.close()
    starved = LogManager([str(tmp_path)], RealFileSystem(), ManualClock())
    with none_left(), pytest.raises(StartError, match="ulimit -n") as rejected:
        starved.start("cluster-a", 1)
    assert [fault.key for fault in rejected.value.faults] == ["log.dirs"]
    logs.start("cluster-a", 1)
    found = logs.get(TP)
    assert found is not None
    assert found.log_end_offset == 3
    logs.close()


def test_a_log_that_could_not_be_closed_is_no_clean_shutdown(tmp_path: Path, spare: SpareDescriptors) -> None:
    logs = LogManager([str(tmp_path)], RealFileSystem(spare), ManualClock())
    logs.start("cluster-a", 1)
    append(logs.create(TP, TOPIC_ID, LogConfig()), batch(3))
    with none_left():
        held = [spare.open(os.devnull, os.O_RDONLY) for _ in range(_COUNT)]
        logs.close()
        for each in held:
            os.close(each)
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_they_are_given_back() -> None:
    before = len(os.listdir("/proc/self/fd"))
    made = SpareDescriptors(_COUNT)
    assert len(os.listdir("/proc/self/fd")) == before + _COUNT
    made.close()
    assert not made.is_short()
    assert len(os.listdir("/proc/self/fd")) == before
    made = SpareDescriptors(_COUNT)
    del made
    assert len(os.listdir("/proc/self/fd")) == before
