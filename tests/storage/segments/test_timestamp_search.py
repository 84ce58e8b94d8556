"""Searches by timestamp: results, and what may happen while one yields."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.cooperative_task import CooperativeTask
from signalbox.common.limits import MAX_DECOMPRESSED_BATCH_BYTES, MIN_APPENDED_UNPACKED_BYTES
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.compression import UnpacksTooLarge
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.segments.timestamp_search import TimestampedOffset
from tests.storage.cleaner.cleaning import CompactedLog, keyed
from tests.storage.workbench import NOW_MS, append, batch, claiming, finished, new_log, reopened

pytestmark = pytest.mark.spec("D1")

LATE = NOW_MS + 1_000_000
LARGE = 2_000_000  # bytes: decompressed in a thread


def append_unread(log: Log, *batches: bytes) -> None:
    """Appends compressed batches whose headers claim what their records do not have, as older releases stored them."""
    for one in batches:
        log.append_as_leader(one, 0, NOW_MS, from_client=False)
    log.flush_appends()


def by_time(log: Log, timestamp: int) -> TimestampedOffset | None:
    return finished(log.offset_for_timestamp(timestamp))


def largest(log: Log) -> TimestampedOffset | None:
    return finished(log.offset_of_max_timestamp())


def log_of(path: Path, *stamps: int, compression: str = "none") -> Log:
    """Batches of three records, one millisecond apart. `stamps`: the batches' start times, in ms after NOW_MS."""
    log = new_log(path, LogConfig(segment_bytes=700, index_interval_bytes=100))
    for number, stamp in enumerate(stamps):
        append(log, batch(3, timestamp=NOW_MS + stamp, compression=compression), epoch=number // 4)
    return log


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_are_found_within_batches_of_any_compression(tmp_path: Path, compression: str) -> None:
    log = log_of(tmp_path, *range(0, 200, 10), compression=compression)
    for number in range(20):
        for within in range(3):
            result = by_time(log, NOW_MS + number * 10 + within)
            assert result == (NOW_MS + number * 10 + within, number * 3 + within, number // 4)
    assert by_time(log, NOW_MS + 5) == (NOW_MS + 10, 3, 0)
    assert by_time(log, 0) == (NOW_MS, 0, 0)
    assert by_time(log, NOW_MS + 193) is None


def test_out_of_order_timestamps_give_the_first_offset(tmp_path: Path) -> None:
    log = log_of(tmp_path, 100, 0, 300, 200, 50, 400, 10, 250)
    for stamp, answer in zip([0, 50, 100, 150, 200, 301, 302, 350], [0, 0, 0, 6, 6, 7, 8, 15], strict=True):
        result = by_time(log, NOW_MS + stamp)
        assert result is not None
        assert result.offset == answer


def test_deleted_records_are_not_found(tmp_path: Path) -> None:
    log = log_of(tmp_path, 0, 100, 200)
    log.high_watermark = 9
    log.delete_records_before(4)
    result = by_time(log, NOW_MS)
    assert result is not None
    assert result.offset == 4


def test_the_largest_timestamp_and_its_first_record(tmp_path: Path) -> None:
    log = log_of(tmp_path, 0, 500, 100, 498, 200)
    assert largest(log) == (NOW_MS + 502, 5, 0)
    log.close()
    assert largest(reopened(tmp_path)) == (NOW_MS + 502, 5, 0)


def test_an_empty_log_has_no_timestamps(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert largest(log) is None
    assert by_time(log, 0) is None


def test_records_without_a_timestamp_are_passed_over(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    for timestamp in (-1, NOW_MS, -1, -1, NOW_MS + 5):
        append(log, batch(timestamp=timestamp))
        log.roll()
    assert by_time(log, 0) == (NOW_MS, 1, 0)
    assert by_time(log, NOW_MS + 1) == (NOW_MS + 5, 4, 0)
    assert largest(log) == (NOW_MS + 5, 4, 0)


def test_the_first_record_is_the_latest_if_none_has_a_timestamp(tmp_path: Path) -> None:
    log = log_of(tmp_path)
    append(log, batch(timestamp=-1), batch(timestamp=-1))
    assert largest(log) == (-1, 0, 0)
    assert by_time(log, 0) is None


def test_log_append_time_is_the_batchs_time(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    append(log, batch(3, timestamp=5))
    assert by_time(log, NOW_MS - 1) == (NOW_MS, 0, 0)


def test_a_batch_that_decompresses_to_more_than_64_kib_is_searched_in_steps(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2, compression="zstd"), batch(1, size=LARGE, timestamp=LATE, compression="zstd"))
    with pytest.raises(StopIteration):
        next(log.offset_for_timestamp(NOW_MS + 1))
    steps, size_bytes = next(log.offset_for_timestamp(LATE))
    assert (steps.max_bytes, size_bytes < 1_000) == (MIN_APPENDED_UNPACKED_BYTES, True)
    assert steps.finish() == ((LATE, 2, 0),)


def test_a_bomb_needs_a_reservation_of_its_size(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_unread(log, claiming(batch(1, size=MIN_APPENDED_UNPACKED_BYTES + 1, compression="zstd"), LATE))
    append(log, batch(1, timestamp=LATE))
    search = log.offset_for_timestamp(LATE)
    small, _ = next(search)
    with pytest.raises(UnpacksTooLarge) as too_large:
        small.finish()
    large, _ = search.throw(too_large.value)
    assert large.max_bytes == MAX_DECOMPRESSED_BATCH_BYTES
    assert by_time(log, LATE) == (LATE, 1, 0)


def slices_of(log: Log, timestamp: int) -> tuple[int, TimestampedOffset | None]:
    """How often a search yields to the event loop, and its result."""
    results, count = list[TimestampedOffset | None](), 0
    task = CooperativeTask(lambda: results.append(by_time(log, timestamp)))
    while not task.dead:
        task.switch()
        count += 1
    return count, results[0]


@pytest.mark.parametrize("size", [0, 200], ids=["decompressed at once", "in a thread"])
def test_a_search_yields_between_records(tmp_path: Path, size: int) -> None:
    log = new_log(tmp_path)
    append_unread(log, claiming(batch(2_000, size=size, compression="gzip"), LATE))
    append(log, batch(1, timestamp=LATE))
    count, result = slices_of(log, LATE)
    assert result == (LATE, 2_000, 0)
    assert count > 2_000


def test_a_search_yields_between_batches(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(index_interval_bytes=2**30))
    for _ in range(1_000):
        append(log, batch(1))
    append(log, batch(1, timestamp=LATE))
    count, result = slices_of(log, LATE)
    assert result == (LATE, 1_000, 0)
    assert count > 1_000 // 128


def interrupted(log: Log, timestamp: int, change: str, at: int = 0) -> TimestampedOffset | None:
    """The result of a search during which the log changes."""
    search = log.offset_for_timestamp(timestamp)
    steps, _ = next(search)
    if change == "delete":
        log.high_watermark = log.log_end_offset
        log.delete_records_before(at)
    elif change == "truncate":
        log.truncate_to(at)
    else:
        log.truncate_fully_and_start_at(at)
    return finished(search, steps.finish())


def two_segments(path: Path) -> Log:
    """Four batches in two segments; a search for LATE reads the first of each segment in vain."""
    log = new_log(path)
    deceptive = claiming(batch(1, size=LARGE, compression="zstd"), LATE)
    for _ in range(2):
        append_unread(log, deceptive)
        append(log, batch(1, timestamp=LATE))
        if len(log.body.segments) == 1:
            log.roll()
    return log


def test_a_log_may_change_during_a_search(tmp_path: Path) -> None:
    assert interrupted(two_segments(tmp_path / "deleted"), LATE, "delete", 2) == (LATE, 3, 0)
    assert interrupted(two_segments(tmp_path / "shorter"), LATE, "truncate", 1) is None
    assert interrupted(two_segments(tmp_path / "empty"), LATE, "restart", 9) is None
    assert interrupted(two_segments(tmp_path / "within"), LATE, "delete", 1) == (LATE, 1, 0)


def compacted_during(log: CompactedLog, search: Callable[[Log], TimestampedOffset | None], switches: int) -> Any:
    """The result of a search that has yielded so often when compaction merges all segments into one."""
    results = list[TimestampedOffset | None]()
    task = CooperativeTask(lambda: results.append(search(log.log)))
    for _ in range(switches):
        task.switch()
    assert log.clean()
    assert len(log.log.body.segments) == 2
    while not task.dead:
        task.switch()
    return results[0]


@pytest.mark.parametrize("switches", range(14))
def test_a_search_continues_in_a_segment_that_replaces_others(tmp_path: Path, switches: int) -> None:
    start_ms = ManualClock().now_ms()
    logs = [CompactedLog(tmp_path / name) for name in ("x", "y")]
    for log in logs:
        for number in range(5):
            log.append(keyed({f"k{number}": "1"}, now_ms=start_ms + number))
    by_third = partial(by_time, timestamp=start_ms + 3)
    assert compacted_during(logs[0], by_third, switches) == (start_ms + 3, 3, 0)
    assert compacted_during(logs[1], largest, switches) == (start_ms + 4, 4, 0)


def test_records_that_cannot_be_read(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = bytearray(claiming(batch(1, size=2_000, compression="none"), LATE))
    append(log, bytes(data))
    segment = log.body.segments.active
    with open(segment.path(".log"), "r+b") as file:
        file.seek(61)
        file.write(b"\xff\xff\xff\xff\x0f")  # the record's length
    with pytest.raises(KafkaError) as rejection:
        by_time(log, NOW_MS)
    assert rejection.value.error is Error.CORRUPT_MESSAGE
