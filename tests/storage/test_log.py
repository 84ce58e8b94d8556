"""The public API of a log, as replication and the handlers use it, compared with a list of records as the model."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from signalbox.common.file_slice import FileSlice
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.last_run import LastRun
from signalbox.storage.log import EMPTY_SLICE, Log, LogSlice
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import NOW_MS, append, batch, new_log, offsets, records, reopened

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=100)


def filled(path: Path, batches: int = 30, config: LogConfig = SMALL) -> Log:
    """A log of several segments, two records per batch."""
    log = new_log(path, config)
    for number in range(batches):
        append(log, batch(2, timestamp=NOW_MS + number * 10), epoch=number // 10)
    return log


# -- read ---------------------------------------------------------------------------------------------------------


def test_a_read_begins_with_the_batch_that_holds_the_offset_and_stays_in_its_segment(tmp_path: Path) -> None:
    log = filled(tmp_path)
    bases = [segment.base_offset for segment in log.body.segments]
    assert len(bases) > 5
    for offset in range(60):
        piece = log.read(offset, 1 << 20)
        assert piece.first_offset == offset // 2 * 2
        assert isinstance(piece.records, FileSlice)
        end = next((base for base in bases if base > offset), 60)
        assert piece.records.position + len(piece) == log.body.segments[log.body.segments.slot_of(end - 1)].written


@pytest.mark.parametrize("max_offset", [0, 1, 4, 6, 30, 59, 60, 99])
def test_a_read_ends_before_the_batch_of_max_offset(tmp_path: Path, max_offset: int) -> None:
    log = filled(tmp_path)
    position = 0
    while len(piece := log.read(position, 1 << 20, max_offset)):
        assert isinstance(piece.records, FileSlice)
        position = records_end(piece.records.read())
    assert position == min(max_offset, 60) // 2 * 2


def records_end(data: bytes) -> int:
    from signalbox.protocol.records.batch_header import iter_batch_headers

    return list(iter_batch_headers(data))[-1].next_offset


@pytest.mark.parametrize(
    ("max_bytes", "min_one_batch", "expected"),
    [(0, True, 1), (1, True, 1), (1, False, 0), (0, False, 0), (200, True, 200), (200, False, 200)],
)
def test_the_byte_limit(tmp_path: Path, max_bytes: int, min_one_batch: bool, expected: int) -> None:
    log = filled(tmp_path)
    size = len(batch(2))
    assert len(log.read(0, max_bytes, None, min_one_batch)) == (size if expected == 1 else expected)


@pytest.mark.parametrize("offset", [-1, 61, 10**9])
def test_offsets_outside_of_the_log_are_rejected(tmp_path: Path, offset: int) -> None:
    with pytest.raises(KafkaError) as rejected:
        filled(tmp_path).read(offset, 100)
    assert rejected.value.error == Error.OFFSET_OUT_OF_RANGE


def test_the_end_of_the_log_has_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.read(60, 100).records == b""
    assert log.read(0, 100, max_offset=0).records == b""


def test_a_slice_outlives_its_segment(tmp_path: Path) -> None:
    log = filled(tmp_path)
    piece = log.read(0, 100)
    log.high_watermark = 60
    log.delete_records_before(60)
    log.truncate_fully_and_start_at(100)
    assert isinstance(piece.records, FileSlice)
    assert piece.records.read().endswith(b"\1\0")


def test_a_failing_disk_is_seen_by_the_reader(tmp_path: Path) -> None:
    filled(tmp_path).close()
    log = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=60))
    os.remove(log.body.segments[1].path(".log"))
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        log.read(log.body.segments[1].base_offset, 100)
    assert not log.online


# -- truncate -------------------------------------------------------------------------------------------------------


@pytest.mark.spec("D3")
@pytest.mark.parametrize("offset", range(0, 61, 3))
def test_truncation_to_any_offset(tmp_path: Path, offset: int) -> None:
    log = filled(tmp_path)
    log.high_watermark = 60
    assert log.truncate_to(offset) == (offset < 60)
    end = offset // 2 * 2
    assert (log.log_end_offset, log.next_offset, log.high_watermark) == (end, end, end)
    assert offsets(log) == list(range(end))
    assert all(start < max(end, 1) for start in log.body.epochs.start_offsets) or end == 0
    append(log, batch(2), epoch=9)
    log.close()
    assert offsets(reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=end + 2))) == list(range(end + 2))
    assert offsets(reopened(tmp_path, SMALL)) == list(range(end + 2))


@pytest.mark.spec("D4")
def test_truncation_takes_the_producers_back(tmp_path: Path) -> None:
    log = new_log(tmp_path, SMALL)
    for number in range(20):
        append(log, batch(2, producer_id=7, sequence=number * 2))
    log.truncate_to(21)
    assert log.body.producers.entries[7].last_sequence == 19
    append(log, batch(2, producer_id=7, sequence=20))
    log.truncate_to(0)
    assert log.body.producers.entries == {}


def test_starting_again_elsewhere(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.truncate_fully_and_start_at(1000)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (1000, 1000, 1000)
    assert log.end_offset_for_epoch(1) == (-1, -1)
    append(log, batch(2), epoch=4)
    assert offsets(log) == [1000, 1001]
    assert offsets(reopened(tmp_path)) == [1000, 1001]


def test_truncation_before_the_log_start_starts_again_there(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.truncate_fully_and_start_at(100)
    append(log, batch(2))
    log.truncate_to(50)
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_a_follower_begins_within_a_batch_when_its_leaders_log_start_does(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.truncate_fully_and_start_at(101)
    log.append_as_follower(batch(3, offset=100) + batch(1, offset=103))
    log.flush_appends()
    assert (log.log_start_offset, log.log_end_offset) == (101, 104)
    assert offsets(log) == [101, 102, 103]
    assert offsets(reopened(tmp_path, last_run=LastRun(log_start_offset=101))) == [101, 102, 103]


def test_leader_epochs_of_a_log(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert log.last_leader_epoch == 2
    assert [log.end_offset_for_epoch(epoch) for epoch in (0, 1, 2, 3)] == [(0, 20), (1, 40), (2, 60), (-1, -1)]
    log.assign_epoch_start(5, 60)
    assert log.end_offset_for_epoch(3) == (2, 60)
    assert log.end_offset_for_epoch(5) == (5, 60)
    assert [log.epoch_of(offset) for offset in (0, 25, 59)] == [0, 1, 2]


# -- delete ---------------------------------------------------------------------------------------------------------


def test_deleting_records_moves_the_log_start(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.high_watermark = 50
    segments = len(log.body.segments)
    assert log.delete_records_before(3) == 3
    assert log.delete_records_before(2) == 3
    assert offsets(log) == list(range(3, 60))
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        log.read(2, 100)
    assert log.delete_records_before(-1) == 50
    assert len(log.body.segments) < segments
    assert log.body.epochs.start_offsets[0] == 50
    for offset in (51, -2):
        with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
            log.delete_records_before(offset)
    append(log, batch(1), epoch=2)
    again = reopened(tmp_path, SMALL, LastRun(log_start_offset=50))
    assert offsets(again) == list(range(50, 61))


@pytest.mark.spec("D7")
def test_retention_by_time_deletes_old_segments_and_rolls_the_last(tmp_path: Path) -> None:
    log = filled(tmp_path, config=LogConfig(segment_bytes=600, retention_ms=1000))
    log.high_watermark = 60
    assert log.run_retention(NOW_MS + 1000) == 0
    deleted = log.run_retention(NOW_MS + 1000 + 150)
    assert 0 < deleted < 10
    assert log.log_start_offset == log.body.segments[0].base_offset > 0
    log.run_retention(NOW_MS + 100_000)
    assert (log.log_start_offset, log.log_end_offset, len(log.body.segments)) == (60, 60, 1)
    append(log, batch(1))
    assert offsets(log) == [60]


def test_closing_a_log_twice_over_its_life(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.close()
    again = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=60))
    append(again, batch(2), epoch=2)
    again.close()
    last = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=62))
    assert offsets(last) == list(range(62))
    assert last.body.recovery_point == 62


def test_flush_if_due(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(flush_ms=1000))
    log.flush_if_due(NOW_MS)
    append(log, batch(1))
    log.flush_if_due(NOW_MS + 999)
    assert log.body.recovery_point == 0
    log.flush_if_due(NOW_MS + 1000)
    assert log.body.recovery_point == 1


def test_a_changed_config_counts_from_the_next_batch_on(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(1), batch(1))
    log.update_config(LogConfig(segment_bytes=200, max_message_bytes=100))
    append(log, batch(1))
    assert len(log.body.segments) == 2
    with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
        append(log, batch(1, size=100))


@pytest.mark.spec("D7")
def test_rolling_by_hand_and_by_time(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(segment_ms=1000))
    log.roll()
    assert len(log.body.segments) == 1
    append(log, batch(1))
    log.roll()
    assert [segment.base_offset for segment in log.body.segments] == [0, 1]
    append(log, batch(1, timestamp=NOW_MS), batch(1, timestamp=NOW_MS + 1000), batch(1, timestamp=NOW_MS + 1001))
    assert [segment.base_offset for segment in log.body.segments] == [0, 1, 3]


# -- the model ------------------------------------------------------------------------------------------------------


class LogMachine(RuleBasedStateMachine):
    """Random operations on a log. The model is a list of (offset, epoch)."""

    def __init__(self) -> None:
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory(prefix="log-machine-")
        self.folder = Path(self.temporary.name)

    def teardown(self) -> None:
        self.temporary.cleanup()

    @initialize(segment_bytes=st.sampled_from([300, 1000, 1 << 30]))
    def begin(self, segment_bytes: int) -> None:
        self.config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=150, file_delete_delay_ms=0)
        self.log = new_log(self.folder, self.config)
        self.model: list[tuple[int, int]] = []
        self.start = self.end = self.epoch = 0

    @rule(counts=st.lists(st.integers(1, 4), min_size=1, max_size=6), size=st.sampled_from([1, 40, 150]))
    def append(self, counts: list[int], size: int) -> None:
        append(
            self.log, *[batch(count, size=min(size, 40 if count > 1 else 150)) for count in counts], epoch=self.epoch
        )
        for count in counts:
            self.model += [(offset, self.epoch) for offset in range(self.end, self.end + count)]
            self.end += count

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1
        self.log.assign_epoch_start(self.epoch, self.end)

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        target = self.start + int((self.end - self.start) * share)
        self.log.truncate_to(target)
        assert max(target - 4, self.start - 1) < self.log.log_end_offset <= target
        self.end = self.log.log_end_offset
        self.model = [row for row in self.model if row[0] < self.end]

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        self.log.high_watermark = self.end
        self.start = max(self.start, self.start + int((self.end - self.start) * share))
        assert self.log.delete_records_before(self.start) == self.start

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(clean=st.booleans())
    def reopen(self, clean: bool) -> None:
        if clean:
            self.log.close()
        point = self.log.body.recovery_point
        self.log = reopened(self.folder, self.config, LastRun(clean, point, self.start))

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "log"):
            return
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        expected = [row for row in self.model if row[0] >= self.start]
        assert offsets(self.log) == [offset for offset, _ in expected]
        for offset, epoch in expected[:: max(len(expected) // 5, 1)]:
            assert self.log.epoch_of(offset) == epoch
            assert records(self.log, offset, max_bytes=100)[0].offset == offset


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)


def test_truncation_at_the_end_removes_a_leader_epoch_without_batches(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append_as_leader(batch(3), 1, NOW_MS)
    log.flush_appends()
    log.assign_epoch_start(2, 3)
    assert not log.truncate_to(3)
    assert (log.log_end_offset, log.last_leader_epoch, log.end_offset_for_epoch(1)) == (3, 1, (1, 3))


def test_a_slice_is_as_long_as_its_part_of_the_file() -> None:
    assert len(LogSlice(FileSlice(1, 0, 77), 3)) == 77
    assert len(EMPTY_SLICE) == 0
    assert EMPTY_SLICE.first_offset == -1
