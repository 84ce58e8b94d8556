"""The watermark of each batch, whatever batches are repeated."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.pipeline.event_time.watermark import (
    FILE,
    BatchTimes,
    begin_batch,
    end_batch,
    read_times,
    times_of_batch,
    write_times,
)
from signalbox.pipeline.table_state import StateError

pytestmark = pytest.mark.spec("P8")
TIMES = st.lists(st.none() | st.integers(-(10**9), 10**9), max_size=4)


@given(st.lists(st.tuples(TIMES, st.integers(0, 2)), max_size=12), st.integers(0, 10**6))
def test_it_is_the_greatest_earlier_time_less_the_delay_and_never_goes_back(
    batches: list[tuple[list[int | None], int]], delay_us: int
) -> None:
    stored: BatchTimes | None = None
    earlier: list[int] = []
    last: int | None = None
    for batch_id, (rows, killed) in enumerate(batches):
        times = [time for time in rows if time is not None]
        watermark = max(earlier) - delay_us if earlier else None
        for _ in range(1 + killed):  # a batch whose run died is begun again, before or after its times were stored
            batch = begin_batch(stored, batch_id, delay_us)
            assert batch.watermark_us == watermark
            stored = end_batch(batch, max(times, default=None))
        assert last is None or (watermark is not None and watermark >= last)
        last = watermark
        earlier += times


def test_a_shorter_delay_moves_it_and_a_longer_one_does_not_move_it_back() -> None:
    stored = BatchTimes(4, 50, 100)
    assert begin_batch(stored, 5, 10).watermark_us == 90
    assert begin_batch(stored, 5, 70).watermark_us == 50


@pytest.mark.parametrize(("stored", "batch_id"), [(None, 1), (BatchTimes(3, 1, 2), 2), (BatchTimes(3, 1, 2), 5)])
def test_batches_that_are_missing_are_an_error(tmp_path: Path, stored: BatchTimes | None, batch_id: int) -> None:
    if stored is not None:
        write_times(tmp_path, stored)
    with pytest.raises(StateError, match=f"{FILE} does not belong to the checkpoint: .* next is {batch_id}"):
        times_of_batch(tmp_path, batch_id, 1)


def test_the_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    assert read_times(tmp_path) is None
    assert times_of_batch(tmp_path, 0, 1) == BatchTimes(0, None, None)
    write_times(tmp_path, BatchTimes(7, None, -5))
    assert read_times(tmp_path) == BatchTimes(7, None, -5)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    for content in ("{", '{"batch_id": 1}'):
        (tmp_path / FILE).write_text(content)
        with pytest.raises(StateError, match=r"cannot be read: .*Restore"):
            read_times(tmp_path)
