import os
from pathlib import Path

import pytest

from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_retention import deletable_segments
from signalbox.storage.segments.segment import Segment
from tests.storage.workbench import NOW_MS, append, batch, new_log, reopened

pytestmark = pytest.mark.spec("D7")


def five_segments(path: Path) -> Log:
    """Segments of four records each, one second apart; the last one is active."""
    log = new_log(path)
    for number in range(5):
        if number:
            log.roll()
        append(log, batch(2, timestamp=NOW_MS + number * 1000), batch(2, timestamp=NOW_MS + number * 1000))
    return log


def written(segment: Segment, at_ms: int) -> None:
    """The file of the segment was last written at that time."""
    os.utime(segment.path(".log"), ns=(0, at_ms * 1_000_000))


SIZE = 2 * len(batch(2))
EVER = LogConfig(retention_ms=-1)


@pytest.mark.parametrize(
    ("config", "high_watermark", "now_ms", "expected"),
    [
        (EVER, 20, NOW_MS + 10**12, 0),
        (LogConfig(retention_ms=1500), 20, NOW_MS + 1500, 0),
        (LogConfig(retention_ms=1500), 20, NOW_MS + 1502, 1),
        (LogConfig(retention_ms=1500), 20, NOW_MS + 3502, 3),
        (LogConfig(retention_ms=1500), 20, NOW_MS + 10**6, 5),  # the active segment, too: the log rolls first
        (LogConfig(retention_ms=1500), 11, NOW_MS + 10**6, 2),  # nothing above the high watermark
        (LogConfig(retention_ms=1500), 0, NOW_MS + 10**6, 0),
        (LogConfig(retention_ms=1500, cleanup_policy=("compact",)), 20, NOW_MS + 10**6, 0),
        (LogConfig(retention_ms=1500, cleanup_policy=("compact", "delete")), 20, NOW_MS + 10**6, 5),
        (LogConfig(retention_ms=-1, retention_bytes=5 * SIZE), 20, NOW_MS, 0),
        (LogConfig(retention_ms=-1, retention_bytes=5 * SIZE - 1), 20, NOW_MS, 0),  # 4 * SIZE would be below the limit
        (LogConfig(retention_ms=-1, retention_bytes=4 * SIZE), 20, NOW_MS, 1),
        (LogConfig(retention_ms=-1, retention_bytes=0), 20, NOW_MS, 4),  # never the active segment
    ],
)
def test_which_segments_retention_deletes(
    tmp_path: Path, config: LogConfig, high_watermark: int, now_ms: int, expected: int
) -> None:
    log = five_segments(tmp_path)
    log.update_config(config)
    assert len(deletable_segments(log.body, high_watermark, log.log_end_offset, now_ms)) == expected


def test_segments_before_the_log_start_go_whatever_the_policy(tmp_path: Path) -> None:
    log = five_segments(tmp_path)
    log.update_config(LogConfig(cleanup_policy=("compact",)))
    log.body.log_start_offset = 9
    assert deletable_segments(log.body, 20, 20, NOW_MS) == ["before the log start offset"] * 2


def test_an_empty_log_has_nothing_to_delete(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    assert deletable_segments(log.body, 0, 0, NOW_MS + 10**12) == []


def test_deleted_segments_are_logged_with_offsets_and_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = five_segments(tmp_path)
    log.high_watermark = 20
    with caplog.at_level("INFO"):
        log.update_config(LogConfig(retention_ms=1500))
        assert log.run_retention(NOW_MS + 2502) == 2
        log.update_config(LogConfig(retention_ms=-1, retention_bytes=2 * SIZE))
        assert log.run_retention(NOW_MS) == 1
        assert log.run_retention(NOW_MS) == 0
    assert [record.getMessage() for record in caplog.records] == [
        f"Deleted the oldest segments (partition={log.topic_partition}, segments=2, log start offset=8, before=0,"
        " log end offset=20, reason=retention.ms=1500)",
        f"Deleted the oldest segments (partition={log.topic_partition}, segments=1, log start offset=12, before=8,"
        f" log end offset=20, reason=retention.bytes={2 * SIZE})",
    ]


@pytest.mark.parametrize(
    ("config", "expected"),
    [(LogConfig(retention_ms=1500), 3), (LogConfig(retention_ms=-1, retention_bytes=3 * SIZE), 2), (EVER, 0)],
)
def test_a_segment_that_compaction_has_emptied_is_as_old_as_its_file(
    tmp_path: Path, config: LogConfig, expected: int
) -> None:
    log = five_segments(tmp_path)
    log.update_config(config)
    first = log.body.segments[0]
    first.use_existing_file(0)
    written(first, NOW_MS)  # the time of the segment before compaction
    assert len(deletable_segments(log.body, 20, 20, NOW_MS + 3502)) == expected


def test_a_segment_without_timestamps_is_as_old_as_its_file(tmp_path: Path) -> None:
    config = LogConfig(retention_ms=1500)
    log = new_log(tmp_path, config)
    append(log, batch(timestamp=-1), batch(timestamp=-1))
    log.roll()
    append(log, batch(timestamp=-1))
    log.high_watermark = 3
    log.close()
    log = reopened(tmp_path, config)
    log.high_watermark = 3
    closed, active = log.body.segments
    written(closed, NOW_MS)
    written(active, NOW_MS + 1000)
    assert deletable_segments(log.body, 3, 3, NOW_MS + 1500) == []
    assert deletable_segments(log.body, 3, 3, NOW_MS + 2500) == ["retention.ms=1500"]
    assert log.run_retention(NOW_MS + 2501) == 2


def test_one_record_with_a_timestamp_gives_its_segment_the_age(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(retention_ms=1500))
    append(log, batch(timestamp=-1), batch(timestamp=NOW_MS), batch(timestamp=-1))
    log.high_watermark = 3
    assert log.run_retention(NOW_MS + 1500) == 0
    assert log.run_retention(NOW_MS + 1501) == 1


@pytest.mark.parametrize(("first", "segments"), [(-1, 2), (NOW_MS, 1)])
def test_a_segment_whose_first_batch_has_no_timestamp_is_rolled_by_the_clock(
    tmp_path: Path, first: int, segments: int
) -> None:
    config = LogConfig(retention_ms=-1, segment_ms=1500)
    log = new_log(tmp_path, config)
    assert log.run_retention(NOW_MS - 10_000) == 0  # an empty segment is not counted from here on
    append(log, batch(timestamp=first))
    for reopen in (False, True):
        if reopen:  # counted from the start, as Kafka does
            log.close()
            log = reopened(tmp_path, config)
        for now_ms in (NOW_MS, NOW_MS + 1500):
            log.run_retention(now_ms)
            assert len(log.body.segments) == 1
    append(log, batch(timestamp=NOW_MS))  # does not roll at once because the timestamp before it is -1
    assert len(log.body.segments) == 1
    log.run_retention(NOW_MS + 1501)
    assert len(log.body.segments) == segments
    assert not log.body.segments.active.size or segments == 1
    log.run_retention(NOW_MS + 10_000)
    assert len(log.body.segments) == segments  # an empty segment stays
