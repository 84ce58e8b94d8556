"""The records that have been fetched and that `poll` has not returned yet, by partition.

A partition with records here is not fetched again, so what waits for the application has a bound. All operations cost
what they return or drop: a large fetch is not walked over by each `poll`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.common.ids import TopicPartition


class FetchedRecords:
    """Of one consumer. Partitions are returned in the order in which their records arrived."""

    def __init__(self) -> None:
        self._by_partition: dict[TopicPartition, deque[ConsumedRecord]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_partition)

    def __contains__(self, partition: object) -> bool:
        return partition in self._by_partition

    def __iter__(self) -> Iterator[TopicPartition]:
        """The partitions that have records."""
        return iter(self._by_partition)

    def add(self, partition: TopicPartition, records: Sequence[ConsumedRecord]) -> None:
        """Records of one partition, behind those that wait."""
        if records:
            self._by_partition.setdefault(partition, deque()).extend(records)

    def take(self, max_records: int) -> list[ConsumedRecord]:
        """The next records, at most `max_records`."""
        taken: list[ConsumedRecord] = []
        while self._by_partition and len(taken) < max_records:
            partition, waiting = next(iter(self._by_partition.items()))
            count = min(max_records - len(taken), len(waiting))
            taken += [waiting.popleft() for _ in range(count)]
            if not waiting:
                del self._by_partition[partition]
        return taken

    def give_back(self, records: Iterable[ConsumedRecord]) -> None:
        """Return these records of the last `take` once more, before all others."""
        waiting = self._by_partition
        self._by_partition = {}
        for record in records:
            self._by_partition.setdefault(TopicPartition(record.topic, record.partition), deque()).append(record)
        for partition, newer in waiting.items():
            self._by_partition.setdefault(partition, deque()).extend(newer)

    def drop(self, partitions: Iterable[TopicPartition]) -> None:
        """These partitions are no longer read, or from another offset."""
        for partition in partitions:
            self._by_partition.pop(partition, None)

    def clear(self) -> None:
        self._by_partition.clear()

    def next_offsets(self) -> dict[TopicPartition, int]:
        """The offset of the first record of each partition."""
        return {
            partition: record.offset
            for partition, waiting in self._by_partition.items()
            for record in islice(waiting, 1)
        }
