"""Many partitions in one log line: `flights-0..5,7 __consumer_offsets-3`. A broker leads thousands."""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.common.ids import TopicPartition

MAX_RANGES = 40  # a line stays readable; the partitions that are left out are counted


def partition_list(partitions: Iterable[TopicPartition]) -> str:
    """Topics in alphabetical order, consecutive partitions as one range."""
    ranges: list[tuple[str, int, int]] = []
    for topic, partition in sorted(partitions):
        if ranges and ranges[-1][0] == topic and ranges[-1][2] == partition - 1:
            ranges[-1] = (topic, ranges[-1][1], partition)
        else:
            ranges.append((topic, partition, partition))
    pieces: dict[str, list[str]] = {}
    for topic, first, last in ranges[:MAX_RANGES]:
        pieces.setdefault(topic, []).append(str(first) if first == last else f"{first}..{last}")
    text = " ".join(f"{topic}-{','.join(numbers)}" for topic, numbers in pieces.items())
    left = sum(last - first + 1 for _, first, last in ranges[MAX_RANGES:])
    return f"{text} and {left} more" if left else text
