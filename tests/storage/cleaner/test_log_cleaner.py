"""The choice of the next log, and logs that cannot be cleaned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.common.ids import TopicPartition
from signalbox.storage.cleaner.cleaning_pass import CleaningPass
from signalbox.storage.cleaner.log_cleaner import LogCleaner
from signalbox.storage.cleaner.log_to_clean import LogToClean
from signalbox.storage.cleaner.worker_port import Mapped, SegmentSource, WorkerLost
from tests.storage.cleaner.cleaning import COMPACTED, LIMITS, CompactedLog, append_batch, drive, keyed, marker
from tests.storage.workbench import TOPIC_ID, TP

pytestmark = pytest.mark.spec("D6")

OTHER = TopicPartition("other", 0)


def two_logs(tmp_path: Path) -> CompactedLog:
    """`flights` is clean up to its half, `other` is dirty."""
    log = CompactedLog(tmp_path)
    for _ in range(2):
        log.append(keyed({"a": "1"}))
    log.log.body.compacted_to = 1
    log.log.update_config(replace(COMPACTED, min_cleanable_dirty_ratio=0.4))
    other = log.logs.create(OTHER, TOPIC_ID, COMPACTED)
    for _ in range(2):
        other.append_as_leader(keyed({"a": "1"}), 0, log.clock.now_ms())
        log.logs.flush_appends()
        other.roll()
    other.high_watermark = other.log_end_offset
    return log


def test_the_dirtiest_log_is_next_and_each_is_cleaned_once(tmp_path: Path) -> None:
    log = two_logs(tmp_path)
    chosen = []
    while (target := log.cleaner.next_log()) is not None:
        chosen.append(target.log.topic_partition)
        drive(log.cleaner.clean(target, log.worker, LIMITS))
    assert chosen == [OTHER, TP]
    assert log.cleaner.last.dirtiest_ratio == 0.0


def test_a_log_in_a_round_is_not_chosen_again(tmp_path: Path) -> None:
    log = two_logs(tmp_path)
    targets = [log.cleaner.next_log() for _ in range(3)]
    assert [target and target.log.topic_partition for target in targets] == [OTHER, TP, None]
    log.cleaner.stop()
    assert targets[0] is not None
    drive(log.cleaner.clean(targets[0], log.worker, LIMITS))
    assert targets[0].log.body.compacted_to == 0  # aborted


@pytest.mark.parametrize("policy", [("delete",), ("compact", "delete")])
def test_logs_without_compaction_are_not_chosen(tmp_path: Path, policy: tuple[str, ...]) -> None:
    log = two_logs(tmp_path)
    for each in log.logs:
        each.update_config(replace(COMPACTED, cleanup_policy=policy))
    assert (log.cleaner.next_log() is None) is (policy == ("delete",))


def test_an_uncleanable_log_is_reported_and_others_are_cleaned(tmp_path: Path) -> None:
    log = two_logs(tmp_path)
    other = log.logs.get(OTHER)
    assert other is not None
    path = Path(other.body.segments[0].path(".log"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    while (target := log.cleaner.next_log()) is not None:
        drive(log.cleaner.clean(target, log.worker, LIMITS))
    assert log.log.body.compacted_to == 2
    assert other.body.compacted_to == 0
    directory = other.body.directory
    assert log.cleaner.uncleanable(directory) == [other]
    assert log.cleaner.uncleanable_bytes(directory) == sum(s.written for s in other.body.segments)
    log.logs.delete(OTHER)
    assert log.cleaner.uncleanable(directory) == []


def test_a_log_with_an_open_transaction_alone_is_not_chosen(tmp_path: Path) -> None:
    log = two_logs(tmp_path)
    other = log.logs.get(OTHER)
    assert other is not None
    append_batch(other, keyed({"a": "2"}, producer=(7, 0, 0), transactional=True), log.clock.now_ms())
    log.logs.flush_appends()
    other.roll()
    append_batch(other, marker(7, commit=True), log.clock.now_ms())
    log.logs.flush_appends()
    other.body.compacted_to = 2
    other.high_watermark = 3  # the marker is not committed, and all before it is one transaction
    for each in (log.log, other):
        each.update_config(replace(COMPACTED, min_cleanable_dirty_ratio=0.0))
    chosen = []
    while (target := log.cleaner.next_log()) is not None:
        chosen.append(target.log.topic_partition)
        drive(log.cleaner.clean(target, log.worker, LIMITS))
    assert chosen == [TP]
    other.high_watermark = 4
    target = log.cleaner.next_log()
    assert target is not None
    drive(log.cleaner.clean(target, log.worker, LIMITS))
    assert other.body.compacted_to == 3


def test_a_log_without_progress_waits_for_the_backoff(tmp_path: Path) -> None:
    log = two_logs(tmp_path)
    chosen: list[TopicPartition] = []
    while (target := log.cleaner.next_log()) is not None:
        chosen.append(target.log.topic_partition)
        if target.log.topic_partition == OTHER:
            target.log.delete_records_before(2)  # the dirty segments are gone
            target.log.append_as_leader(keyed({"a": "3"}), 0, log.clock.now_ms())
            log.logs.flush_appends()
            target.log.high_watermark = 3
            target.log.roll()  # it is dirty again
        drive(log.cleaner.clean(target, log.worker, LIMITS))
    assert chosen == [OTHER, TP]
    log.cleaner.end_backoff()
    target = log.cleaner.next_log()
    assert target is not None
    assert target.log.topic_partition == OTHER
    drive(log.cleaner.clean(target, log.worker, LIMITS))
    assert target.log.body.compacted_to == 3


class LostWorker(CleaningPass):
    """Its process ends in each round."""

    def map_segment(self, source: SegmentSource) -> Mapped:
        raise WorkerLost("killed")


def test_a_log_whose_worker_is_lost_again_and_again_is_uncleanable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = two_logs(tmp_path)
    log.logs.delete(OTHER)
    log.worker = LostWorker(log.file_system)
    for _ in range(2):
        assert log.clean()
        assert log.cleaner.next_log() is None  # until the end of the backoff
    assert caplog.text.count("failed and is retried: killed") == 2
    assert not log.cleaner.is_uncleanable(log.log)
    assert log.clean()
    assert "is uncleanable: killed" in caplog.text
    assert not log.clean()
    log.log.update_config(replace(COMPACTED, min_cleanable_dirty_ratio=0.1))
    log.worker = CleaningPass(log.file_system)
    assert log.clean()
    assert log.log.body.compacted_to == 2


def test_an_error_of_the_disk_does_not_fail_the_metrics(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path, replace(COMPACTED, max_compaction_lag_ms=5_000))
    log.append(keyed({"a": "1"}))
    path = Path(log.log.body.segments[0].path(".log"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert log.clean()
    directory = log.log.body.directory
    assert log.cleaner.uncleanable(directory) == [log.log]
    assert log.cleaner.uncleanable_bytes(directory) == path.stat().st_size
    log.file_system.fail("pread", path_part=".log")  # type: ignore[attr-defined]
    assert log.cleaner.uncleanable_bytes(directory) == 0
    assert not directory.online


def test_logs_of_a_directory_that_fails_are_passed_over(tmp_path: Path) -> None:
    log = two_logs(tmp_path)
    log.logs.directories[0].fail(OSError("broken"), "testing")
    target = LogCleaner(log.logs, log.clock).next_log()
    assert target is None or target.log.online


def test_a_log_that_is_deleted_while_its_producers_are_read_is_passed_over(tmp_path: Path) -> None:
    log = two_logs(tmp_path)
    log.append(*(keyed({"a": "1"}, producer=(number, 0, 0)) for number in range(3)))
    chosen: list[LogToClean | None] = []
    task = CooperativeTask(lambda: chosen.append(log.cleaner.next_log()))
    task.switch()
    log.logs.delete(TP)
    while not task.dead:
        task.switch()
    assert chosen[0] is not None
    assert chosen[0].log.topic_partition == OTHER
    assert all(directory.online for directory in log.logs.directories)


def test_a_log_that_is_truncated_before_its_round_begins_is_left_as_it_is(tmp_path: Path) -> None:
    log = two_logs(tmp_path)
    target = log.cleaner.next_log()
    assert target is not None
    target.log.truncate_to(1)
    drive(log.cleaner.clean(target, log.worker, LIMITS))
    assert target.log.body.compacted_to == 0
