"""Offsets that were committed in a transaction (KIP-98): they count when the transaction is committed.

Until the transaction ends, a partition with such an offset is unstable, also if the offset itself no longer counts:
another offset that was written later supersedes it. A tombstone removes it. What counts is the order of the offsets
in the log, not that of the markers: of two transactions that commit an offset of the same partition, the one with the
later offset wins, as in Kafka. The producer id is the key, as in the records.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import TYPE_CHECKING

from signalbox.common.ids import TopicPartition

if TYPE_CHECKING:
    from signalbox.coordinator.group.offset_store import CommittedOffset

_Numbered = tuple[int, "CommittedOffset"]  # the number counts the offsets in the order of the log
_Offsets = dict[TopicPartition, _Numbered | None]


class PendingOffsets:
    """By producer id, then by group and partition; None for an offset that was superseded. `_producers_of` finds the
    producers of a group's partition: a group may have very many open transactions, and each commit looks here."""

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[str, _Offsets]] = {}
        self._producers_of: dict[str, dict[TopicPartition, set[int]]] = {}
        self._numbers = count()

    def put(self, producer_id: int, group_id: str, partition: TopicPartition, value: CommittedOffset) -> None:
        groups = self._by_producer.setdefault(producer_id, {})
        groups.setdefault(group_id, {})[partition] = (next(self._numbers), value)
        self._producers_of.setdefault(group_id, {}).setdefault(partition, set()).add(producer_id)

    def supersede(self, group_id: str, partition: TopicPartition) -> None:
        """A record without a transaction was written for this partition, later than all that are pending."""
        self._supersede_before(next(self._numbers), group_id, partition)

    def remove(self, group_id: str, partition: TopicPartition) -> None:
        """A tombstone was written for this partition: its pending offsets are gone, and it is stable."""
        for producer_id in self._producers_of.get(group_id, {}).pop(partition, ()):
            groups = self._by_producer[producer_id]
            del groups[group_id][partition]
            if not groups[group_id]:
                del groups[group_id]
        if not self._producers_of.get(group_id, True):
            del self._producers_of[group_id]

    def _supersede_before(self, number: int, group_id: str, partition: TopicPartition) -> None:
        for producer_id in self._producers_of.get(group_id, {}).get(partition, ()):
            offsets = self._by_producer[producer_id][group_id]
            numbered = offsets[partition]
            if numbered is not None and numbered[0] < number:
                offsets[partition] = None

    def end(self, producer_id: int, committed: bool) -> dict[str, dict[TopicPartition, CommittedOffset]]:
        """The producer's transaction has ended: remove its offsets and return those that count now, by group. They
        supersede the pending offsets of other transactions that were written before them."""
        counting: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        for group_id, offsets in self._by_producer.pop(producer_id, {}).items():
            self._forget(producer_id, group_id, offsets)
            for partition, numbered in offsets.items() if committed else ():
                if numbered is not None:
                    number, value = numbered
                    self._supersede_before(number, group_id, partition)
                    counting.setdefault(group_id, {})[partition] = value
        return counting

    def _forget(self, producer_id: int, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        by_partition = self._producers_of[group_id]
        for partition in partitions:
            by_partition[partition].discard(producer_id)
            if not by_partition[partition]:
                del by_partition[partition]
        if not by_partition:
            del self._producers_of[group_id]

    def is_unstable(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether a transaction that has not ended has an offset of the partition."""
        return partition in self._producers_of.get(group_id, {})

    def has_group(self, group_id: str) -> bool:
        return group_id in self._producers_of

    def partitions(self, group_id: str) -> set[TopicPartition]:
        """The partitions whose pending offsets still count."""
        return {
            partition
            for partition, producers in self._producers_of.get(group_id, {}).items()
            if any(self._by_producer[producer_id][group_id][partition] is not None for producer_id in producers)
        }

    def groups(self) -> set[str]:
        return set(self._producers_of)
