"""The arithmetic of offsets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.common.ids import TopicPartition
from signalbox.pipeline.offsets import (
    DataLossError,
    OffsetMap,
    OffsetRange,
    capped,
    limited,
    ranges_between,
    reject_loss,
    tasks_of,
)


def offset_map(*offsets: int, topic_id: str = "id-1") -> OffsetMap:
    return OffsetMap({"t": topic_id}, {TopicPartition("t", index): offset for index, offset in enumerate(offsets)})


def test_json_form_is_flat_and_comes_back() -> None:
    there = offset_map(5, 0)
    assert there.to_json() == {"t": "id-1", "t:0": 5, "t:1": 0}
    assert OffsetMap.from_json(there.to_json()) == there


@pytest.mark.parametrize(
    ("latest", "message"),
    [
        (OffsetMap(), "topic t is gone"),
        (offset_map(9, 9, topic_id="id-2"), "deleted and created again"),
        (offset_map(9), "partition t-1 is gone"),
        (offset_map(9, 4), "ends at offset 4 but was read up to 5"),
    ],
)
def test_what_cannot_be_a_continuation_is_rejected(latest: OffsetMap, message: str) -> None:
    with pytest.raises(DataLossError, match=message):
        reject_loss(offset_map(5, 5), latest)


def test_a_continuation_with_a_new_partition_is_none_of_that() -> None:
    latest = offset_map(5, 6, 7)
    reject_loss(offset_map(5, 5), latest)
    assert ranges_between(offset_map(5, 5), latest) == [OffsetRange("t", 1, 5, 6), OffsetRange("t", 2, 0, 7)]


def test_limit_is_shared_out_by_backlog_and_leaves_no_partition_behind() -> None:
    end = limited(offset_map(0, 0, 10), offset_map(900, 1, 10), 100)
    assert end == offset_map(99, 1, 10)


def test_without_a_limit_or_below_it_all_is_taken() -> None:
    latest = offset_map(40, 50)
    assert limited(offset_map(0, 0), latest, None) == latest
    assert limited(offset_map(0, 0), latest, 90) == latest


def test_cap_keeps_a_run_until_now_from_going_on() -> None:
    assert capped(offset_map(9, 3, 4), offset_map(5, 5)) == offset_map(5, 3)


@given(
    st.lists(st.integers(0, 5000), min_size=1, max_size=8),
    st.integers(1, 6),
    st.integers(1, 3000),
)
def test_tasks_hold_every_offset_once(counts: list[int], parallelism: int, min_task_records: int) -> None:
    ranges = [OffsetRange("t", index, 7, 7 + count) for index, count in enumerate(counts) if count]
    tasks = tasks_of(ranges, parallelism, min_task_records)
    assert len(tasks) <= parallelism
    parts = [part for task in tasks for part in task]
    for offset_range in ranges:
        mine = [part for part in parts if part.partition == offset_range.partition]
        ends = [offset_range.start_offset, *(part.end_offset for part in mine)]
        assert [part.start_offset for part in mine] == ends[:-1]
        assert ends[-1] == offset_range.end_offset
    sizes = [sum(part.count for part in task) for task in tasks]
    assert sum(sizes) == sum(counts)
    assert all(size == max(sizes) for size in sizes[:-1])


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9999)), min_size=1, max_size=6), st.integers(1, 500))
def test_limited_batches_reach_the_end_and_never_pass_it(backlogs: list[tuple[int, int]], limit: int) -> None:
    position = offset_map(*(start for start, _ in backlogs))
    latest = offset_map(*(start + waiting for start, waiting in backlogs))
    total = sum(waiting for _, waiting in backlogs)
    for _ in range(total + 1):
        end = limited(position, latest, limit)
        taken = sum(part.count for part in ranges_between(position, end))
        assert taken <= limit + len(backlogs)
        if end == position:
            break
        position = end
    assert position == latest
