"""Expiry of groups and offsets (KIP-211), and DeleteGroups.

An offset expires `offsets.retention.minutes` after: in an empty group, the moment when the group became empty; in a
stable group of consumers, its commit, if no member subscribes to the topic; in a group without a protocol type, its
commit. An offset with a retention of its own expires by that, under the same conditions. A group without members is
removed when it has no offsets left.
"""

from __future__ import annotations

from collections.abc import Iterator

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import CoordinatorRecord, Decision, nothing
from signalbox.coordinator.group.group import Group, SinceWhen
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.group_records import offset_tombstone
from signalbox.coordinator.group.offset_store import NO_EXPIRY, CommittedOffset, OffsetStore
from signalbox.protocol.error_table import Error, KafkaError


class GroupExpiry:
    def __init__(self, groups: GroupMap, offsets: OffsetStore, settings: GroupSettings) -> None:
        self._groups = groups
        self._offsets = offsets
        self._settings = settings

    def delete(self, group_id: str) -> Decision[Error]:
        """DeleteGroups for one group. Raises KafkaError if it cannot be deleted."""
        group = self._groups.get(group_id)
        error = Error.GROUP_ID_NOT_FOUND if group is None else group.check_deletion()
        if group is None or error is not Error.NONE:
            raise KafkaError(error)
        return self._remove(group)

    def _remove(self, group: Group) -> Decision[Error]:
        """Tombstones of the offsets come first, the group's own last: a log that ends between them has a group without
        offsets, never offsets without a group. The group is removed at once: a member that joins gets a new one."""
        partitions = self._offsets.known_or_coming(group.group_id)
        records = [offset_tombstone(group.group_id, *partition) for partition in partitions]
        records.append(group.tombstone())
        self._groups.remove(group.group_id)

        def end() -> None:
            was_restored = self._groups.get(group.group_id) is group  # after a timeout; it may have members by now
            if not was_restored and not group.is_dead:
                group.end()

        return Decision(
            Error.NONE, records, effects=[end], on_failure=lambda error: self._groups.restore(group), atomic=False
        )

    def expire(self, now_ms: int) -> Iterator[Decision[None]]:
        """Removes expired offsets and groups: one decision per group."""
        for group in self._groups:
            yield self._expire_group(group, now_ms) if self._groups.get(group.group_id) is group else nothing()

    def _expire_group(self, group: Group, now_ms: int) -> Decision[None]:
        since = group.offsets_expire_since()
        offsets = self._offsets.of_group(group.group_id)
        expired = [
            partition
            for partition, offset in (offsets.items() if since else ())
            if since and self._is_expired(group, partition, offset, since, now_ms)
        ]
        left = len(offsets) - len(expired)
        coming = any(self._offsets.is_coming(group.group_id, p) for p in self._offsets.known_or_coming(group.group_id))
        open_transaction = self._offsets.pending.has_group(group.group_id)
        if group.is_unused and not left and not coming and not open_transaction:
            removal = self._remove(group)
            return Decision(None, removal.records, removal.effects, removal.on_failure, atomic=False)
        records: list[CoordinatorRecord] = [offset_tombstone(group.group_id, *partition) for partition in expired]
        return Decision(None, records, atomic=False)

    def _is_expired(
        self, group: Group, partition: TopicPartition, offset: CommittedOffset, since: SinceWhen, now_ms: int
    ) -> bool:
        if group.is_subscribed_to(partition.topic) or self._offsets.is_coming(group.group_id, partition):
            return False
        if self._offsets.pending.is_unstable(group.group_id, partition):
            return False
        if offset.expire_timestamp_ms != NO_EXPIRY:
            return now_ms >= offset.expire_timestamp_ms
        return now_ms - since(offset) >= self._settings.offsets_retention_ms
