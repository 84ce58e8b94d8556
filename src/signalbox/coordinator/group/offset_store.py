"""The committed offsets of a shard's groups: only those whose records are committed.

It also has the keys whose records are being written: a deletion of a group's offsets must delete these too, or a
commit that completes later would restore them without their group. Offsets of transactions that have not ended are in
`pending`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.group.pending_offsets import PendingOffsets
from signalbox.protocol.messages.group_records import OffsetCommitValue

NO_EXPIRY = -1


class CommittedOffset(NamedTuple):
    """`expire_timestamp_ms` is set only for commits with a retention of their own (OffsetCommit 2 to 4)."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int = NO_EXPIRY

    @staticmethod
    def from_record(value: OffsetCommitValue) -> CommittedOffset:
        return CommittedOffset(
            value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp
        )


class OffsetStore:
    """Offsets by group, then by topic partition."""

    def __init__(self) -> None:
        self._committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self._on_the_way: dict[str, dict[TopicPartition, int]] = {}
        self.pending = PendingOffsets()
        self.count = 0

    def of_group(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """The group's committed offsets; empty if it has none. The caller must not change it."""
        return self._committed.get(group_id, {})

    def known_or_coming(self, group_id: str) -> list[TopicPartition]:
        """Every partition for which the group has an offset, pending or not, or a record of one is being written."""
        known = dict.fromkeys((*self.of_group(group_id), *self._on_the_way.get(group_id, {})))
        return list({**known, **dict.fromkeys(self.pending.partitions(group_id))})

    def is_coming(self, group_id: str, partition: TopicPartition) -> bool:
        return partition in self._on_the_way.get(group_id, {})

    def groups_with_topic(self, topic: str) -> Iterator[str]:
        """Iterates over all groups, which may be many: yields the group id, or "" if the group has no offset of it."""
        for group_id in {*self._committed, *self._on_the_way, *self.pending.groups()}:
            found = any(partition.topic == topic for partition in self.known_or_coming(group_id))
            yield group_id if found else ""

    def put(self, group_id: str, partition: TopicPartition, value: CommittedOffset) -> None:
        self.pending.supersede(group_id, partition)
        self._put(group_id, partition, value)

    def _put(self, group_id: str, partition: TopicPartition, value: CommittedOffset) -> None:
        offsets = self._committed.setdefault(group_id, {})
        self.count += partition not in offsets
        offsets[partition] = value

    def remove(self, group_id: str, partition: TopicPartition) -> None:
        self.pending.remove(group_id, partition)
        offsets = self._committed.get(group_id)
        if offsets is None or offsets.pop(partition, None) is None:
            return
        self.count -= 1
        if not offsets:
            del self._committed[group_id]

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """The marker of the producer's transaction is in the log: its offsets count now, or never."""
        for group_id, offsets in self.pending.end(producer_id, committed).items():
            for partition, value in offsets.items():
                self._put(group_id, partition, value)

    def begin(self, group_id: str, partitions: Iterable[TopicPartition]) -> Callable[[], None]:
        """Note that records for these keys are being written. Call what this returns once, when the log's result is
        known: a commit that timed out may still be replayed."""
        keys = list(partitions)
        coming = self._on_the_way.setdefault(group_id, {})
        for partition in keys:
            coming[partition] = coming.get(partition, 0) + 1

        return partial(self._settle, group_id, keys)

    def _settle(self, group_id: str, partitions: list[TopicPartition]) -> None:
        coming = self._on_the_way.get(group_id, {})
        for partition in partitions:
            coming[partition] -= 1
            if not coming[partition]:
                del coming[partition]
        if not coming:
            self._on_the_way.pop(group_id, None)
