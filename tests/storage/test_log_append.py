"""The two ways to append: a leader appends a producer's batch, a follower appends batches from its leader."""

import errno
import os
import struct
import tempfile
from pathlib import Path

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import unpack_header
from signalbox.protocol.records.record_errors import InvalidRecords
from signalbox.storage.append_queue import LogAppendInfo
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.last_run import LastRun
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.validation.batch_admission import admit_batch, batch_rules
from tests.protocol.records.poison import MISNUMBERED, UNREADABLE, poisoned, raw_record
from tests.storage.workbench import NOW_MS, append, batch, claiming, finished, new_log, offsets, reopened

Callbacks = list[tuple[int, Error | None]]


def queue(log: Log, data: bytes | bytearray | memoryview, callbacks: Callbacks) -> LogAppendInfo:
    def on_written(info: LogAppendInfo, error: KafkaError | None) -> None:
        callbacks.append((info.first_offset, None if error is None else error.error))

    return log.append_as_leader(data, 0, NOW_MS, on_written)


def test_leader_epoch_and_offset_are_in_the_file(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2), epoch=3)
    append(log, batch(2), epoch=5)
    headers = list(log.body.segments.active.headers())
    assert [(h.base_offset, h.partition_leader_epoch) for h in headers] == [(0, 3), (2, 5)]
    assert (log.body.epochs.epochs, log.body.epochs.start_offsets) == ([3, 5], [0, 2])


# -- idempotence ------------------------------------------------------------------------------------------------


def test_a_repeated_batch_is_answered_with_its_first_offsets(tmp_path: Path) -> None:
    log, callbacks = new_log(tmp_path), Callbacks()
    first = batch(3, producer_id=7)
    append(log, batch(2), first)
    again = queue(log, first, callbacks)
    assert (again.first_offset, again.last_offset, again.duplicate) == (2, 4, True)
    assert callbacks == []
    log.flush_appends()
    assert (callbacks, log.log_end_offset) == ([(2, None)], 5)


def test_a_repeated_batch_keeps_its_first_append_time(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    append(log, batch(1, producer_id=7, timestamp=5))
    again = log.append_as_leader(batch(1, producer_id=7, timestamp=5), 0, NOW_MS + 1000)
    assert (again.duplicate, again.log_append_time_ms) == (True, NOW_MS)


def test_a_batch_repeated_before_it_is_written_waits_for_the_write(tmp_path: Path) -> None:
    log, callbacks = new_log(tmp_path), Callbacks()
    queue(log, batch(1, producer_id=7), callbacks)
    assert queue(log, batch(1, producer_id=7), callbacks).duplicate
    log.flush_appends()
    assert (callbacks, log.log_end_offset) == ([(0, None), (0, None)], 1)


@pytest.mark.parametrize(
    ("epoch", "sequence", "error"),
    [
        (0, 2, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (-1, 1, Error.INVALID_RECORD),
        (1, 1, Error.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_rejected_sequences_change_nothing(tmp_path: Path, epoch: int, sequence: int, error: Error) -> None:
    log = new_log(tmp_path)
    append(log, batch(1, producer_id=7))
    with pytest.raises(KafkaError) as rejected:
        log.append_as_leader(batch(1, producer_id=7, producer_epoch=epoch, sequence=sequence), 0, NOW_MS)
    assert rejected.value.error == error
    append(log, batch(1, producer_id=7, sequence=1))
    assert offsets(log) == [0, 1]


def test_sequences_wrap_around(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(3, producer_id=7, sequence=2**31 - 2), batch(2, producer_id=7, sequence=1))
    assert log.append_as_leader(batch(3, producer_id=7, sequence=2**31 - 2), 0, NOW_MS).duplicate
    assert log.body.producers.entries[7].last_sequence == 2


# -- rejections ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", Error.INVALID_RECORD),
        (batch(1)[:60], Error.CORRUPT_MESSAGE),
        (batch(1)[:-1], Error.CORRUPT_MESSAGE),
        (batch(1) + batch(1), Error.INVALID_RECORD),
        (batch(1)[:-1] + b"?", Error.CORRUPT_MESSAGE),
        (batch(1, size=2000), Error.MESSAGE_TOO_LARGE),
        (batch(1, timestamp=NOW_MS + 3_600_001), Error.INVALID_TIMESTAMP),
        (batch(1)[:16] + b"\1" + batch(1)[17:], Error.INVALID_RECORD),
        (batch(1, size=950), Error.RECORD_LIST_TOO_LARGE),
    ],
    ids=["nothing", "no header", "cut off", "two batches", "checksum", "too large", "future", "format 1", "segment"],
)
def test_a_bad_batch_is_rejected_and_nothing_changes(tmp_path: Path, data: bytes, error: Error) -> None:
    log = new_log(tmp_path, LogConfig(max_message_bytes=1500, segment_bytes=1000))
    append(log, batch(1))
    with pytest.raises(KafkaError) as rejected:
        log.append_as_leader(data, 0, NOW_MS)
    assert rejected.value.error == error
    append(log, batch(1))
    assert offsets(log) == [0, 1]


# -- followers --------------------------------------------------------------------------------------------------


def leaders_file(path: Path, config: LogConfig, sizes: list[int]) -> tuple[Log, bytes]:
    """A leader's log, and all its bytes."""
    path.mkdir()
    leader = new_log(path, config)
    for number, size in enumerate(sizes):
        append(leader, batch(2, size=size, producer_id=7, sequence=number * 2), epoch=number // 4)
    return leader, b"".join(segment.read(0, segment.written) for segment in leader.body.segments)


@pytest.mark.parametrize("sizes", [[20] * 12, [9000] * 6, [20, 9000, 20, 20]])
def test_a_follower_log_becomes_identical_to_its_leaders(tmp_path: Path, sizes: list[int]) -> None:
    config = LogConfig(segment_bytes=40_000 if max(sizes) > 100 else 500)
    leader, data = leaders_file(tmp_path / "leader", config, sizes)
    (tmp_path / "follower").mkdir()
    follower = new_log(tmp_path / "follower", config)
    info = follower.append_as_follower(bytearray(data))
    assert (info.first_offset, info.last_offset) == (0, leader.log_end_offset - 1)
    follower.flush_appends()
    assert follower.log_end_offset == leader.log_end_offset
    assert [s.read(0, s.written) for s in follower.body.segments] == [
        s.read(0, s.written) for s in leader.body.segments
    ]
    assert follower.body.epochs.epochs == leader.body.epochs.epochs
    assert follower.body.producers.entries[7].batches == leader.body.producers.entries[7].batches


def test_a_fetched_piece_may_end_within_a_batch(tmp_path: Path) -> None:
    _, data = leaders_file(tmp_path / "leader", LogConfig(), [20, 20, 20])
    one = len(data) // 3
    for cut in (0, 1, 11, 12, 60, one - 1, one, one + 1, 3 * one - 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        follower = new_log(folder)
        assert follower.append_as_follower(data[:cut]).size_bytes == cut // one * one
        follower.flush_appends()
        assert follower.log_end_offset == cut // one * 2


@pytest.mark.parametrize("at", [0, 17, 100])
def test_a_corrupt_batch_in_a_fetched_piece_changes_nothing(tmp_path: Path, at: int) -> None:
    _, data = leaders_file(tmp_path / "leader", LogConfig(), [20, 20])
    broken = bytearray(data)
    broken[len(data) // 2 + at] ^= 0x80
    (tmp_path / "follower").mkdir()
    follower = new_log(tmp_path / "follower")
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        follower.append_as_follower(broken)
    assert (follower.next_offset, follower.body.producers.entries) == (0, {})


def test_batches_that_the_follower_already_has_are_rejected(tmp_path: Path) -> None:
    _, data = leaders_file(tmp_path / "leader", LogConfig(), [20, 20])
    (tmp_path / "follower").mkdir()
    follower = new_log(tmp_path / "follower")
    follower.append_as_follower(data)
    with pytest.raises(KafkaError, match="the log ends at 4"):
        follower.append_as_follower(data)


def test_gaps_of_compacted_topics_are_kept(tmp_path: Path) -> None:
    follower = new_log(tmp_path, LogConfig(cleanup_policy=("compact",)))
    follower.append_as_follower(batch(2, offset=0) + batch(1, offset=10) + batch(1, offset=11))
    follower.flush_appends()
    assert offsets(follower) == [0, 1, 10, 11]
    assert follower.read(5, 1).first_offset == 10
    assert (tmp_path / "gap-offset-checkpoint").read_text() == "0\n1\nflights 0 10\n"
    assert offsets(reopened(tmp_path, LogConfig(), LastRun(gaps_to=10))) == [0, 1, 10, 11]


@pytest.mark.spec("D3")
def test_a_fetched_batch_behind_a_gap_needs_a_batch_that_confirms_its_offset(tmp_path: Path) -> None:
    follower = new_log(tmp_path, LogConfig(cleanup_policy=("compact",)))
    follower.append_as_follower(batch(2, offset=0) + batch(1, offset=4))
    assert (follower.next_offset, follower.body.gaps_below) == (2, 0)
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE: a batch has base offset 4 instead of 2, offset 3 follows"):
        follower.append_as_follower(batch(1, offset=4) + batch(1, offset=3))
    assert (follower.next_offset, follower.body.gaps_below) == (2, 0)
    follower.append_as_follower(batch(1, offset=4) + batch(1, offset=9) + batch(1, offset=12))
    assert (follower.next_offset, follower.body.gaps_below) == (10, 9)
    follower.append_as_follower(batch(1, offset=12))  # the leader sent it first: it has validated the offset
    follower.flush_appends()
    assert offsets(follower) == [0, 1, 4, 9, 12]


def test_without_a_stored_gap_no_record_behind_it_is_written(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    follower = new_log(tmp_path, LogConfig(cleanup_policy=("compact",)), disk)
    disk.fail("rename", errno.EIO)
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        follower.append_as_follower(batch(1, offset=4))
    assert next((tmp_path / "flights-0").glob("*.log")).stat().st_size == 0


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("behind", "fault"),
    [
        (batch(1, offset=3), "a batch at offset 3, the log ends at 2"),
        (batch(1, offset=2, epoch=4), "leader epoch 4, not 5 to 6"),
        (batch(1, offset=2, epoch=7), "leader epoch 7, not 5 to 6"),
    ],
)
def test_a_fetched_batch_that_does_not_continue_the_log_changes_nothing(
    tmp_path: Path, behind: bytes, fault: str
) -> None:
    follower = new_log(tmp_path)
    with pytest.raises(KafkaError, match=f"CORRUPT_MESSAGE.*{fault}"):
        follower.append_as_follower(batch(2, offset=0, epoch=5) + behind, leader_epoch=6)
    assert (follower.next_offset, follower.last_leader_epoch) == (0, -1)
    follower.append_as_follower(batch(2, offset=0, epoch=5), leader_epoch=6)
    with pytest.raises(KafkaError, match=f"CORRUPT_MESSAGE.*{fault}"):
        follower.append_as_follower(behind, leader_epoch=6)
    follower.flush_appends()
    assert offsets(follower) == [0, 1]


@pytest.mark.parametrize("operation", ["open", "pwrite", "fsync", "rename"])
@pytest.mark.parametrize("skip", range(6))
def test_a_disk_failure_between_two_batches_leaves_an_intact_log(tmp_path: Path, operation: str, skip: int) -> None:
    config = LogConfig(segment_bytes=500)
    _, data = leaders_file(tmp_path / "leader", config, [20] * 30)
    (tmp_path / "follower").mkdir()
    disk = FaultyFileSystem()
    follower = new_log(tmp_path / "follower", config, disk)
    disk.fail(operation, errno.EIO, skip=skip)
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        follower.append_as_follower(data)
    assert not follower.online
    assert follower.next_offset == follower.log_end_offset
    end = follower.log_end_offset
    again = reopened(tmp_path / "follower", config)
    assert offsets(again)[:end] == list(range(end))
    assert offsets(again) == list(range(again.log_end_offset))


# -- fast validation and full validation --------------------------------------------------------------------------

FIELDS = {
    "batch_length": ("i", 8),
    "magic": ("b", 16),
    "attributes": ("h", 21),
    "last_offset_delta": ("i", 23),
    "base_timestamp": ("q", 27),
    "max_timestamp": ("q", 35),
    "producer_id": ("q", 43),
    "producer_epoch": ("h", 51),
    "base_sequence": ("i", 53),
    "record_count": ("i", 57),
}
NEAR = st.sampled_from([-2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 64, 100, 3000, NOW_MS, NOW_MS + 3_600_001, 2**31 - 1])


@settings(max_examples=400, deadline=None)
@given(
    changes=st.dictionaries(st.sampled_from(sorted(FIELDS)), NEAR, max_size=3),
    signed=st.booleans(),
    cut=st.sampled_from([0, 0, 0, 1]),
    producer_id=st.sampled_from([-1, 5]),
    count=st.sampled_from([3, 3, 30]),
    size=st.sampled_from([20, 0, 500]),
    compression=st.sampled_from(["none", "none", "lz4", "zstd"]),
)
def test_fast_validation_agrees_with_full_validation(
    changes: dict[str, int], signed: bool, cut: int, producer_id: int, count: int, size: int, compression: str
) -> None:
    config = LogConfig(max_message_bytes=2000)
    data = bytearray(batch(count, size=size, producer_id=producer_id, compression=compression))
    for name, value in changes.items():
        code, position = FIELDS[name]
        bits = struct.calcsize(f">{code}") * 8
        struct.pack_into(f">{code}", data, position, min(value, 2 ** (bits - 1) - 1))
    if signed:
        struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    final = bytes(data[: len(data) - cut])
    with tempfile.TemporaryDirectory() as folder:
        glance = new_log(Path(folder), config)._passes_fast_validation(final, unpack_header(final, 0), NOW_MS)
    try:
        stored, header, _ = admit_batch(final, config, batch_rules(config), NOW_MS, from_client=True)
    except KafkaError:
        assert not glance
    else:
        flagged = header[5] > 0  # compressed, or valid but too unusual for the fast validation
        assert glance != (flagged or stored != final)


def test_the_highest_timestamp_that_a_header_claims_is_corrected(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, claiming(batch(3), NOW_MS + 999_999_999))
    [header] = log.body.segments.active.headers()
    assert header.max_timestamp == NOW_MS + 2
    assert finished(log.offset_of_max_timestamp()) == (NOW_MS + 2, 2, 0)


@pytest.mark.parametrize("record", [*MISNUMBERED.values(), *UNREADABLE.values()], ids=[*MISNUMBERED, *UNREADABLE])
@pytest.mark.parametrize("policy", [("delete",), ("compact",)])
def test_poison_is_not_stored(tmp_path: Path, record: bytes, policy: tuple[str, ...]) -> None:
    log = new_log(tmp_path, LogConfig(cleanup_policy=policy))
    for count in (2, 40):
        with pytest.raises(InvalidRecords, match="INVALID_RECORD"):
            log.append_as_leader(poisoned(record, NOW_MS, count=count), 0, NOW_MS)
    append(log, poisoned(raw_record(1), NOW_MS))
    assert offsets(log) == [0, 1, 2]


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("size", [1, 400])
def test_a_header_cannot_move_the_end_of_a_log_by_its_word_alone(tmp_path: Path, compression: str, size: int) -> None:
    log = new_log(tmp_path)
    append(log, batch(1))
    data = bytearray(batch(20, size=size, compression=compression))
    if compression != "none":
        data += os.urandom(1000 if size > 1 else 0)  # large batches are not decompressed
    struct.pack_into(">i", data, 8, len(data) - 12)
    struct.pack_into(">i", data, 23, 2**31 - 2)
    struct.pack_into(">i", data, 57, 2**31 - 1)
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    with pytest.raises(KafkaError, match="INVALID_RECORD"):
        log.append_as_leader(data, 0, NOW_MS)
    append(log, batch(1))
    assert offsets(log) == [0, 1]
