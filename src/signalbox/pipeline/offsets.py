"""Offsets of our data source: arithmetic only, without Spark and without a client.

An offset map holds for each topic its id and for each partition the next offset to read. In a checkpoint it is flat
JSON, `{"flights": "<topic id>", "flights:0": 14400}`: readable, and by the id a topic that was deleted and created
again is recognized.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.common.ids import TopicPartition


class DataLossError(RuntimeError):
    """Records that were to be read no longer exist: continuing would skip them silently."""


@dataclass(frozen=True, slots=True)
class OffsetMap:
    """Next offsets per partition, and topic ids."""

    topic_ids: Mapping[str, str] = field(default_factory=dict)
    next_offsets: Mapping[TopicPartition, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, str | int]:
        """The flat form for Spark's checkpoint."""
        flat: dict[str, str | int] = dict(sorted(self.topic_ids.items()))
        flat.update({f"{tp.topic}:{tp.partition}": self.next_offsets[tp] for tp in sorted(self.next_offsets)})
        return flat

    @staticmethod
    def from_json(flat: Mapping[str, str | int]) -> OffsetMap:
        """The map that `to_json` wrote."""
        topic_ids: dict[str, str] = {}
        next_offsets: dict[TopicPartition, int] = {}
        for key, value in flat.items():
            topic, colon, partition = key.rpartition(":")
            if colon:
                next_offsets[TopicPartition(topic, int(partition))] = int(value)
            else:
                topic_ids[key] = str(value)
        return OffsetMap(topic_ids, next_offsets)


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The records [start_offset, end_offset) of one partition."""

    topic: str
    partition: int
    start_offset: int
    end_offset: int

    @property
    def count(self) -> int:
        return self.end_offset - self.start_offset


def recreated(topic: str, topic_id: str, latest_id: str) -> DataLossError:
    """The error for a topic that has another id than the one that was being read."""
    return DataLossError(
        f"topic {topic} was deleted and created again (its id was {topic_id}, is {latest_id}): "
        "records of the old one may be missing; begin a new table for the new topic"
    )


def reject_loss(start: OffsetMap, latest: OffsetMap) -> None:
    """Raises DataLossError when `latest` cannot be a continuation of `start`."""
    for topic, topic_id in start.topic_ids.items():
        latest_id = latest.topic_ids.get(topic)
        if latest_id is None:
            raise DataLossError(f"topic {topic} is gone; it was being read")
        if latest_id != topic_id:
            raise recreated(topic, topic_id, latest_id)
    for tp, offset in start.next_offsets.items():
        end = latest.next_offsets.get(tp)
        if end is None:
            raise DataLossError(f"partition {tp.topic}-{tp.partition} is gone; it was read up to offset {offset}")
        if end < offset:
            raise DataLossError(
                f"partition {tp.topic}-{tp.partition} ends at offset {end} but was read up to {offset}: "
                "its log was truncated"
            )


def limited(start: OffsetMap, latest: OffsetMap, max_records: int | None) -> OffsetMap:
    """The end of the next batch: at most about `max_records`, divided by backlog, at least one record of each
    partition.

    Partitions that `start` does not have are new: they begin at 0.
    """
    backlog = {tp: max(0, end - start.next_offsets.get(tp, 0)) for tp, end in latest.next_offsets.items()}
    total = sum(backlog.values())
    if max_records is None or total <= max_records:
        return latest
    ends = {}
    for tp, waiting in backlog.items():
        share = min(waiting, max(1, waiting * max_records // total)) if waiting else 0
        ends[tp] = start.next_offsets.get(tp, 0) + share
    return OffsetMap(latest.topic_ids, ends)


def capped(ends: OffsetMap, target: OffsetMap) -> OffsetMap:
    """`ends`, but not beyond `target`; partitions that `target` does not have are left out."""
    capped_ends = {
        tp: min(offset, target.next_offsets[tp])
        for tp, offset in ends.next_offsets.items()
        if tp in target.next_offsets
    }
    return OffsetMap(target.topic_ids, capped_ends)


def ranges_between(start: OffsetMap, end: OffsetMap) -> list[OffsetRange]:
    """The non-empty ranges from `start` to `end`, by partition."""
    ranges = []
    for tp in sorted(end.next_offsets):
        first = start.next_offsets.get(tp, 0)
        if end.next_offsets[tp] > first:
            ranges.append(OffsetRange(tp.topic, tp.partition, first, end.next_offsets[tp]))
    return ranges


def tasks_of(ranges: list[OffsetRange], parallelism: int, min_task_records: int) -> list[list[OffsetRange]]:
    """Divides the ranges among at most `parallelism` tasks of about equal size; a range is split where a task is full.

    A task costs a connection and a seek, so a task is not made smaller than `min_task_records` without need.
    """
    total = sum(part.count for part in ranges)
    if total == 0:
        return []
    task_count = max(1, min(parallelism, total // max(1, min_task_records)))
    size = -(-total // task_count)
    tasks: list[list[OffsetRange]] = [[]]
    remaining = size
    for part in ranges:
        first = part.start_offset
        while first < part.end_offset:
            if remaining == 0:
                tasks.append([])
                remaining = size
            last = min(part.end_offset, first + remaining)
            tasks[-1].append(OffsetRange(part.topic, part.partition, first, last))
            remaining -= last - first
            first = last
    return tasks
