"""Appends in two steps: accepted, then written together. If the write fails, all of them are removed again."""

import errno
from pathlib import Path

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.append_queue import LogAppendInfo
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import NOW_MS, append, batch, new_log, offsets, records, reopened

Callbacks = list[tuple[int, Error | None]]


def queue(log: Log, data: bytes | bytearray | memoryview, callbacks: Callbacks) -> LogAppendInfo:
    def on_written(info: LogAppendInfo, error: KafkaError | None) -> None:
        callbacks.append((info.first_offset, None if error is None else error.error))

    return log.append_as_leader(data, 0, NOW_MS, on_written)


def test_a_batch_counts_at_once_and_is_readable_after_the_flush(tmp_path: Path) -> None:
    log, callbacks = new_log(tmp_path), Callbacks()
    info = queue(log, batch(3), callbacks)
    assert (info.first_offset, info.last_offset, info.log_append_time_ms) == (0, 2, -1)
    assert (log.next_offset, log.log_end_offset, callbacks) == (3, 0, [])
    assert len(log.read(0, 1000)) == 0
    log.flush_appends()
    assert (log.log_end_offset, callbacks) == (3, [(0, None)])
    assert offsets(log) == [0, 1, 2]


@pytest.mark.parametrize("size", [20, 30_000], ids=["small", "large"])
def test_the_callers_buffer_is_free_after_the_call(tmp_path: Path, size: int) -> None:
    log = new_log(tmp_path)
    for _ in range(3):
        shared = bytearray(batch(2, size=size))
        log.append_as_leader(memoryview(shared), 4, NOW_MS)
        shared[:] = bytes(len(shared))
    log.flush_appends()
    assert offsets(log) == [0, 1, 2, 3, 4, 5]
    assert {record.value[:1] for record in records(log) if record.value} == {b"\0", b"\1"}


def test_read_only_input_is_not_changed(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = batch(1, size=30_000)
    before = bytes(data)
    append(log, data, data)
    append(log, memoryview(data))
    assert data == before
    assert offsets(log) == [0, 1, 2]


def test_a_group_is_one_write(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    log = new_log(tmp_path, file_system=disk)
    append(log, batch(1))  # creates the file of leader epochs, too
    disk.calls.clear()
    append(log, *[batch(1) for _ in range(50)])
    assert disk.calls == {"pwrite": 1}
    append(log, batch(1), batch(1, size=20_000), batch(1))
    assert disk.calls == {"pwrite": 3}


def test_callbacks_run_after_the_log_end_has_advanced(tmp_path: Path) -> None:
    log, events = new_log(tmp_path), []
    log.on_advanced = lambda: events.append(("advanced", log.log_end_offset))
    log.append_as_leader(batch(2), 0, NOW_MS, lambda info, error: events.append(("written", log.log_end_offset)))
    log.flush_appends()
    assert events == [("advanced", 2), ("written", 2)]


def test_a_failed_callback_does_not_stop_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log, callbacks = new_log(tmp_path), Callbacks()

    def fail(*_: object) -> None:
        raise ValueError("a mistake")

    log.on_advanced = fail
    log.append_as_leader(batch(1), 0, NOW_MS, fail)
    queue(log, batch(1), callbacks)
    log.flush_appends()
    assert callbacks == [(1, None)]
    assert offsets(log) == [0, 1]
    assert caplog.text.count("ValueError: a mistake") == 2


def test_an_answer_may_append_again(tmp_path: Path) -> None:
    log = new_log(tmp_path)

    def on_written(info: LogAppendInfo, error: KafkaError | None) -> None:
        log.append_as_leader(batch(1), 0, NOW_MS)

    log.append_as_leader(batch(1), 0, NOW_MS, on_written)
    log.flush_appends()
    assert (log.log_end_offset, log.next_offset) == (1, 2)
    log.flush_appends()
    assert log.log_end_offset == 2


# -- the disk -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("capacity", [0, 50, 150, 10_000], ids=["nothing", "within one", "within two", "within large"])
def test_a_full_disk_fails_the_group_and_the_directory(tmp_path: Path, capacity: int) -> None:
    disk = FaultyFileSystem()
    log, callbacks = new_log(tmp_path, file_system=disk), Callbacks()
    append(log, batch(2, producer_id=7))
    written = log.body.segments.active.written
    disk.capacity_bytes = capacity
    queue(log, batch(1, producer_id=7, sequence=2), callbacks)
    queue(log, batch(1, producer_id=7, sequence=3), callbacks)
    queue(log, batch(1, producer_id=8, size=20_000), callbacks)
    with pytest.raises(KafkaError) as failed:
        log.flush_appends()
    assert failed.value.error == Error.KAFKA_STORAGE_ERROR
    assert [error for _, error in callbacks] == [Error.KAFKA_STORAGE_ERROR] * 3
    assert (log.next_offset, log.log_end_offset, log.online) == (2, 2, False)
    assert log.body.producers.entries[7].last_sequence == 1
    assert 8 not in log.body.producers.entries
    assert log.body.segments.active.size == written
    for call in (lambda: log.read(0, 100), lambda: queue(log, batch(1), callbacks), lambda: log.truncate_to(1)):
        with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
            call()
    again = reopened(tmp_path)
    assert offsets(again) == [0, 1]
    assert again.body.producers.entries[7].last_sequence == 1


def test_an_io_error_while_rolling_rejects_the_batch_and_keeps_the_others(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    log, callbacks = new_log(tmp_path, LogConfig(segment_bytes=300), disk), Callbacks()
    queue(log, batch(1, producer_id=7, size=150), callbacks)
    disk.fail("open", errno.EIO, ".log")
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        queue(log, batch(1, producer_id=7, size=150, sequence=1), callbacks)
    assert log.complete_group() is None
    assert callbacks == [(0, None)]
    assert offsets(reopened(tmp_path)) == [0]


def test_flush_messages_syncs_before_the_callbacks(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    log, callbacks = new_log(tmp_path, LogConfig(flush_messages=3), disk), Callbacks()
    queue(log, batch(2), callbacks)
    log.flush_appends()
    assert "fsync" not in disk.calls
    queue(log, batch(1), callbacks)
    log.flush_appends()
    assert (disk.calls["fsync"], log.body.recovery_point) == (1, 3)
    disk.fail("fsync", errno.EIO)
    queue(log, batch(3), callbacks)
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        log.flush_appends()
    assert [error for _, error in callbacks] == [None, None, Error.KAFKA_STORAGE_ERROR]


def group(log: Log, callbacks: Callbacks, size: int = 300_000) -> CooperativeTask:
    """A large batch: its first piece is in the file, its last piece is not."""
    work = CooperativeTask(lambda: queue(log, bytearray(batch(1, size=size)), callbacks))
    work.switch()
    assert not work.dead
    assert log.log_end_offset < log.next_offset
    return work


@pytest.mark.spec("C5")
def test_nothing_of_a_large_batch_counts_before_its_last_piece(tmp_path: Path) -> None:
    log, callbacks = new_log(tmp_path), Callbacks()
    append(log, batch(1))
    work = group(log, callbacks)
    assert (offsets(log), log.log_end_offset) == ([0], 1)
    while not work.dead:
        work.switch()
    log.flush_appends()
    assert (callbacks, offsets(log)) == ([(1, None)], [0, 1])
    assert offsets(reopened(tmp_path)) == [0, 1]


@pytest.mark.parametrize("size", [20, 300_000], ids=["small", "large"])
def test_an_append_during_a_partial_write_comes_after_it(tmp_path: Path, size: int) -> None:
    log, callbacks = new_log(tmp_path), Callbacks()
    work = group(log, callbacks)
    queue(log, batch(2, size=size), callbacks)
    while not work.dead:
        work.switch()
    log.flush_appends()
    assert (callbacks, offsets(log)) == ([(0, None), (1, None)], [0, 1, 2])
    assert offsets(reopened(tmp_path)) == [0, 1, 2]


def test_a_flush_or_truncation_completes_a_partial_write_first(tmp_path: Path) -> None:
    log, callbacks = new_log(tmp_path), Callbacks()
    work = group(log, callbacks)
    log.flush_appends()
    assert (callbacks, log.log_end_offset) == ([(0, None)], 1)
    log.truncate_to(0)
    while not work.dead:
        work.switch()
    append(log, batch(1))
    assert (callbacks, offsets(log)) == ([(0, None)], [0])


def test_a_large_batch_whose_later_piece_fails_is_taken_back(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    log, callbacks = new_log(tmp_path, file_system=disk), Callbacks()
    append(log, batch(1))
    size_bytes = log.size_bytes
    work = group(log, callbacks)
    disk.fail("pwrite", errno.ENOSPC)
    while not work.dead:
        work.switch()
    with pytest.raises(KafkaError):
        log.flush_appends()
    assert (callbacks, log.log_end_offset, log.next_offset) == ([(1, Error.KAFKA_STORAGE_ERROR)], 1, 1)
    assert next(tmp_path.rglob("*.log")).stat().st_size == size_bytes


def test_the_info_of_a_repeated_batch_has_its_first_offsets() -> None:
    info = LogAppendInfo(10, 12, 100, 0)
    info.mark_duplicate(4, 6, 1000)
    assert (info.first_offset, info.last_offset, info.duplicate) == (4, 6, True)
    assert info.log_append_time_ms == -1
    assert repr(info) == "LogAppendInfo(4..6, 100 bytes, duplicate)"
