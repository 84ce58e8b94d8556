"""A log checks parts of itself: corruption is reported once, the first corrupt batch first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.protocol.error_table import KafkaError
from signalbox.storage.last_run import LastRun
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.validation import corruption
from signalbox.storage.validation.corruption import PIECE_BYTES
from tests.storage.workbench import append, batch, new_log, offsets, reopened

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=100)


def filled(path: Path) -> tuple[Log, int]:
    """(a log with twelve batches of two records, five batches per segment, two epochs; the size of a batch)"""
    log = new_log(path, SMALL)
    for number in range(12):
        append(log, batch(2), epoch=number // 6)
    return log, len(batch(2))


def flip(log: Log, position: int, segment: int = 0) -> None:
    path = Path(log.body.segments[segment].path(".log"))
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    with path.open("rb+") as file:
        file.write(data)


@pytest.mark.parametrize("offset", [0, 3, 10, 23])
def test_an_intact_log_has_nothing_to_report(tmp_path: Path, offset: int) -> None:
    log, _ = filled(tmp_path)
    assert log.check_at(offset, 1 << 20) is None
    assert log.corruption is None


def drop_oldest(log: Log) -> None:
    log.high_watermark = log.log_end_offset
    log.delete_records_before(10)  # the second of three segments begins there


@pytest.mark.spec("D3")
@pytest.mark.parametrize("missing_bytes", [1, 30, 500])
def test_a_file_that_ends_too_early_is_corrupt(tmp_path: Path, missing_bytes: int) -> None:
    log, size = filled(tmp_path)
    path = Path(log.body.segments[0].path(".log"))
    with path.open("rb+") as file:
        file.truncate(5 * size - missing_bytes)
    location = log.check_at(0)
    assert location is not None
    assert location.offset == 2 * ((5 * size - missing_bytes) // size)


@pytest.mark.spec("D3")
@pytest.mark.parametrize("piece_bytes", [100, PIECE_BYTES])
@pytest.mark.parametrize("offset", [0, 12])
@pytest.mark.parametrize(
    "change",
    [drop_oldest, lambda log: log.truncate_to(14), lambda log: log.truncate_fully_and_start_at(40), Log.roll],
    ids=["segments deleted", "truncated", "restarted", "rolled"],
)
def test_an_intact_log_that_changes_while_it_is_checked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    offset: int,
    piece_bytes: int,
    change: Callable[[Log], object],
) -> None:
    monkeypatch.setattr(corruption, "PIECE_BYTES", piece_bytes)
    for slices in range(6):
        log, _ = filled(path := tmp_path / str(slices))
        results: list[object] = []
        check = CooperativeTask(lambda log=log, results=results: results.append(log.check_at(offset, 1 << 20)))
        for _ in range(slices):
            if not check.dead:
                check.run_slice(0.0)
        change(log)
        while not check.dead:
            check.run_slice(0.0)
        assert (results, log.corruption, log.online) == ([None], None, True), path


@pytest.mark.spec("D3")
@pytest.mark.parametrize("at", [1, 6, 7, 9, 12, 15, 16, 19, 40, 80])
def test_a_corrupt_batch_is_reported(tmp_path: Path, at: int) -> None:
    log, size = filled(tmp_path)
    reports = []
    log.on_corrupt = lambda: reports.append(log.corruption)
    flip(log, 3 * size + at)
    for _ in range(2):
        assert log.check_at(6) is not None
    [location] = reports
    assert location is not None
    assert location[:3] == (6, 0, 3 * size)


@pytest.mark.spec("D3")
@pytest.mark.parametrize("at", [2, 5, 10], ids=lambda at: f"byte {at}")
def test_a_read_that_finds_no_batch_for_its_offset_is_corrupt(tmp_path: Path, at: int) -> None:
    """Otherwise records would be skipped silently: only compacted logs may have gaps."""
    log, size = filled(tmp_path)
    log.close()
    for number in range(4):
        flip(log, number * size + at)
    log = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=24))
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        offsets(log)
    assert log.corruption is not None
    assert log.corruption.offset == 0


@pytest.mark.spec("D3")
@pytest.mark.parametrize("number", [2, 4], ids=["a batch follows", "a segment follows"])
def test_below_the_compacted_offset_the_batch_behind_the_gap_is_corrupt(tmp_path: Path, number: int) -> None:
    log, size = new_log(tmp_path, SMALL), len(batch(2))
    append(log, *(batch(2) for _ in range(12)))
    log.body.compacted_to = 24
    flip(log, number * size + 7)  # adds 16
    location = log.check_at(2 * number)
    assert location is not None
    assert location[:3] == (2 * number, 0, number * size)


@pytest.mark.spec("D3")
def test_a_topic_with_compaction_has_no_gap_where_nothing_was_compacted(tmp_path: Path) -> None:
    log, size = filled(tmp_path)
    log.close()
    flip(log, 2 * size + 7)
    log = reopened(tmp_path, LogConfig(cleanup_policy=("compact",)), LastRun(clean=True, recovery_point=24))
    with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
        log.read(4, 1)
    assert log.corruption is not None
    assert log.corruption.offset == 4


@pytest.mark.spec("D3")
@pytest.mark.parametrize("at", [6, 9, 15, 80])
def test_truncation_before_the_corrupt_batch_leaves_an_intact_log(tmp_path: Path, at: int) -> None:
    log, size = filled(tmp_path)
    flip(log, 2 * size + at, segment=1)
    location = log.check_at(16)
    assert location is not None
    assert location.offset == 14
    log.truncate_corruption(14)
    assert (log.log_end_offset, log.corruption) == (14, None)
    append(log, batch(2), epoch=1)
    assert offsets(log) == list(range(16))


def test_epochs_above_the_controllers_are_corrupt(tmp_path: Path) -> None:
    log, size = filled(tmp_path)
    log.check_epochs(1)
    assert log.corruption is None
    log.check_epochs(0)
    assert log.corruption is not None
    assert log.corruption[:3] == (12, 10, size)


def test_an_epoch_without_batches_is_not_corrupt(tmp_path: Path) -> None:
    log, _ = filled(tmp_path)
    log.assign_epoch_start(9, 24)
    log.check_epochs(1)
    assert log.corruption is None


def test_truncation_clears_corruption_that_it_removed(tmp_path: Path) -> None:
    log, size = filled(tmp_path)
    flip(log, 3 * size + 80)
    assert log.check_at(6) is not None
    log.truncate_to(8)
    assert log.corruption is not None
    log.truncate_to(4)
    assert log.corruption is None
