"""Partitions are formatted for people."""

from __future__ import annotations

from signalbox.common.ids import TopicPartition
from signalbox.common.partition_list import MAX_RANGES, partition_list


def of(topic: str, *numbers: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in numbers]


def test_consecutive_partitions_become_ranges() -> None:
    assert partition_list(of("b", 7, 0, 1, 2) + of("a", 3)) == "a-3 b-0..2,7"
    assert partition_list([]) == ""


def test_a_long_list_is_cut_and_the_rest_counted() -> None:
    line = partition_list(of("t", *range(0, 4 * MAX_RANGES, 2)))
    assert line.endswith(f",{2 * MAX_RANGES - 2} and {MAX_RANGES} more")
