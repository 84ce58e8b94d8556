"""The scrub finds every corrupt batch of every segment, and reports nothing in logs that only change meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.validation.corruption import PIECE_BYTES
from signalbox.storage.validation.log_scrub import LogScrub
from tests.storage.workbench import NOW_MS, append, batch, new_log

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=100)


def filled(path: Path, config: LogConfig = SMALL, batches: int = 12) -> Log:
    path.mkdir(exist_ok=True)
    log = new_log(path, config)
    for number in range(batches):
        append(log, batch(2), epoch=number // 5)
    return log


def flip(log: Log, segment: int, position: int) -> None:
    path = Path(log.body.segments[segment].path(".log"))
    data = bytearray(path.read_bytes())
    data[position] ^= 0x04
    path.write_bytes(data)


def run_pass(scrub: LogScrub) -> None:
    scrub.begin()
    while (piece := scrub.next_piece()) is not None:
        scrub.check_piece(piece.bytes.read())


def test_a_pass_checks_every_byte_of_every_log(tmp_path: Path) -> None:
    logs = [filled(tmp_path / name) for name in "abc"]
    scrub = LogScrub(logs)
    run_pass(scrub)
    assert scrub.bytes_checked == sum(log.size_bytes for log in logs) > 0
    assert (scrub.corrupt_batches, scrub.passes) == (0, 1)


def test_batches_larger_than_a_piece_are_checked(tmp_path: Path) -> None:
    log = filled(tmp_path / "a", LogConfig(max_message_bytes=1 << 20), batches=2)
    append(log, batch(1, size=3 * PIECE_BYTES), batch(1), epoch=0)
    scrub = LogScrub([log])
    run_pass(scrub)
    assert (scrub.bytes_checked, scrub.corrupt_batches) == (log.size_bytes, 0)
    flip(log, 0, 2 * PIECE_BYTES)
    run_pass(scrub)
    assert log.corruption is not None
    assert log.corruption.offset == 4


@pytest.mark.spec("D3")
@pytest.mark.parametrize("segment", [0, 1, 2])
@pytest.mark.parametrize("at", [0, 5, 7, 8, 11, 12, 15, 16, 18, 22, 50, 100])
def test_a_corrupt_batch_is_found_and_the_other_logs_are_gone_through(tmp_path: Path, segment: int, at: int) -> None:
    logs = [filled(tmp_path / name) for name in "abc"]
    flip(logs[1], segment, len(batch(2)) + at)
    scrub = LogScrub(logs)
    run_pass(scrub)
    found = logs[1].corruption
    assert found is not None
    assert found[:3] == (10 * segment + 2, 10 * segment, len(batch(2)))
    assert scrub.corrupt_batches == 1
    assert (logs[0].corruption, logs[2].corruption) == (None, None)
    run_pass(scrub)
    assert (scrub.corrupt_batches, scrub.passes) == (1, 2), "a batch that is known is not counted again"


@pytest.mark.spec("D3")
@pytest.mark.parametrize(("segment", "number"), [(0, 2), (0, 4), (1, 1)])
def test_a_corrupt_offset_below_the_compacted_one_is_found(tmp_path: Path, segment: int, number: int) -> None:
    log = filled(tmp_path / "a")
    log.body.compacted_to = 24
    position = number * len(batch(2))
    path = Path(log.body.segments[segment].path(".log"))
    data = bytearray(path.read_bytes())
    data[position + 7] += 3  # a gap of three offsets, until the next batch or segment
    path.write_bytes(data)
    run_pass(LogScrub([log]))
    assert log.corruption is not None
    assert log.corruption[:3] == (10 * segment + 2 * number, 10 * segment, position)
    log.truncate_corruption(log.corruption.offset)
    assert log.log_end_offset == 10 * segment + 2 * number


def test_a_segment_that_lacks_its_end_is_found(tmp_path: Path) -> None:
    log = filled(tmp_path / "a")
    path = Path(log.body.segments[0].path(".log"))
    path.write_bytes(path.read_bytes()[: -len(batch(2))])
    log.body.segments[0].written = path.stat().st_size
    run_pass(LogScrub([log]))
    assert log.corruption is not None
    assert log.corruption[:3] == (8, 0, 4 * len(batch(2)))


def test_deleted_records_at_the_log_start_are_not_checked(tmp_path: Path) -> None:
    log = filled(tmp_path / "a")
    log.high_watermark = 24
    log.delete_records_before(13)
    flip(log, 0, 70)  # a byte of the batch at offset 10, which is deleted completely
    run_pass(LogScrub([log]))
    assert log.corruption is None


changes = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3)),
        st.tuples(st.just("truncate"), st.integers(0, 30)),
        st.tuples(st.just("delete"), st.integers(0, 30)),
        st.tuples(st.just("restart"), st.integers(0, 40)),
        st.tuples(st.just("roll"), st.just(0)),
        st.tuples(st.just("close"), st.just(0)),
        st.tuples(st.just("nothing"), st.just(0)),
    ),
    max_size=30,
)


@given(steps=changes)
@settings(max_examples=40, deadline=None)
def test_logs_that_change_meanwhile_are_not_called_corrupt(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """The log changes between the choice of a piece, its read and its check."""
    log = filled(tmp_path_factory.mktemp("scrub") / "a")
    scrub, epoch, left = LogScrub([log]), 3, list(steps)

    def change() -> None:
        nonlocal epoch
        kind, number = left.pop() if left else ("nothing", 0)
        epoch += 1
        if kind == "append":
            for _ in range(number):
                log.append_as_leader(batch(2), epoch, NOW_MS)
            log.flush_appends()
        elif kind == "truncate":
            log.truncate_to(max(number, log.log_start_offset))
        elif kind == "delete":
            log.high_watermark = log.log_end_offset
            log.delete_records_before(min(number, log.log_end_offset))
        elif kind == "restart":
            log.truncate_fully_and_start_at(number)
        elif kind == "roll":
            log.roll()
        elif kind == "close":
            log.body.close_files()

    scrub.begin()
    while (piece := scrub.next_piece()) is not None:
        change()
        data = piece.bytes.read()
        change()
        scrub.check_piece(data)
        change()
    run_pass(scrub)
    assert log.corruption is None
    assert scrub.corrupt_batches == 0
