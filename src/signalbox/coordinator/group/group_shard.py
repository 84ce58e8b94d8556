"""The groups and offsets of one partition of `__consumer_offsets`: components, replay, load and unload.

Each API has its own file; this one combines them on the same state. What differs between the types of groups is in the
table `_kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from signalbox.common.clock import Clock
from signalbox.common.ids import TopicPartition
from signalbox.common.metrics import MetricName, Metrics
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import NO_PRODUCER_ID, CoordinatorRecord, Decision, TransactionEnd
from signalbox.coordinator.group.classic.classic_groups import ClassicGroups
from signalbox.coordinator.group.classic.describe_group import DescribeGroup
from signalbox.coordinator.group.classic.heartbeat import Heartbeat
from signalbox.coordinator.group.classic.join_group import JoinGroup
from signalbox.coordinator.group.classic.leave_group import LeaveGroup
from signalbox.coordinator.group.classic.rebalance import Rebalance
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.group.classic.sync_group import SyncGroup
from signalbox.coordinator.group.group import GroupKind, GroupType
from signalbox.coordinator.group.group_expiry import GroupExpiry
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.offset_commit import OffsetCommit
from signalbox.coordinator.group.offset_delete import OffsetDelete
from signalbox.coordinator.group.offset_fetch import OffsetFetch
from signalbox.coordinator.group.offset_rows import OffsetRows
from signalbox.coordinator.group.offset_store import CommittedOffset, OffsetStore
from signalbox.coordinator.group.txn_offset_commit import TxnOffsetCommit
from signalbox.coordinator.ports import Timer
from signalbox.protocol.messages.group_records import GroupMetadataKey, OffsetCommitKey

_TYPE_OF_KEY: dict[type, GroupType] = {GroupMetadataKey: GroupType.CLASSIC}


class GroupShard:
    """State of one partition. The public components take decisions; only `replay` applies records."""

    def __init__(
        self, partition: int, timer: Timer, clock: Clock, settings: GroupSettings, new_suffix: Callable[[], str]
    ) -> None:
        self.partition = partition
        self.groups = GroupMap()
        self.offsets = OffsetStore()
        self._clock = clock
        self._loaded = False
        rebalance = Rebalance(timer, settings)
        self._classic = classic = ClassicGroups(self.groups, rebalance, settings, clock.now_ms)
        self._kinds: dict[GroupType, GroupKind] = {GroupType.CLASSIC: classic}
        self.join_group = JoinGroup(classic, rebalance, settings, new_suffix)
        self.sync_group = SyncGroup(classic, rebalance)
        self.heartbeat = Heartbeat(classic, rebalance)
        self.leave_group = LeaveGroup(classic, rebalance)
        self.describe_group = DescribeGroup(classic)
        rows = OffsetRows(self.offsets, settings)
        self.txn_offset_commit = TxnOffsetCommit(self.groups, rows)
        self.offset_commit = OffsetCommit(self.groups, rows, self._kinds)
        self.offset_fetch = OffsetFetch(self.groups, self.offsets)
        self.offset_delete = OffsetDelete(self.groups, self.offsets)
        self.expiry = GroupExpiry(self.groups, self.offsets, settings)

    def now_ms(self) -> int:
        return self._clock.now_ms()

    # --- replay

    def replay(self, record: CoordinatorRecord) -> None:
        key, value, producer_id = record
        if isinstance(key, TransactionEnd):
            self.offsets.end_transaction(producer_id, key.committed)
        elif isinstance(key, OffsetCommitKey):
            self._replay_offset(key, value, producer_id)
        elif value is None:
            self._replay_group_tombstone(key.group)
        else:
            self._kinds[_TYPE_OF_KEY[type(key)]].replay(key.group, value)

    def _replay_offset(self, key: OffsetCommitKey, value: object, producer_id: int) -> None:
        partition = TopicPartition(key.topic, key.partition)
        if value is None:
            self.offsets.remove(key.group, partition)
            return
        if self.groups.get(key.group) is None:
            # For offsets of a client that is not a member, the log has no group record: their group is empty.
            self._classic.get_or_create(key.group)
        offset = CommittedOffset.from_record(value)  # type: ignore[arg-type]
        if producer_id == NO_PRODUCER_ID:
            self.offsets.put(key.group, partition, offset)
        else:
            self.offsets.pending.put(producer_id, key.group, partition, offset)

    def _replay_group_tombstone(self, group_id: str) -> None:
        """While loading, the log decides: the group is removed. Later the decision itself removed the group, so a
        group with this id is a newer one and is kept; unless an offset alone created it and is deleted by now."""
        group = self.groups.get(group_id)
        if group is None:
            return
        is_vacant = (
            group.is_unused and not self.offsets.of_group(group_id) and not self.offsets.pending.has_group(group_id)
        )
        if is_vacant or not self._loaded:
            self.groups.remove(group_id)

    # --- load and unload

    def finish_loading(self) -> Iterator[None]:
        """Start the timers of the groups."""
        self._loaded = True
        for group in self.groups:
            self._kinds[group.group_type].finish_loading(group)
            yield

    def unload(self) -> Iterator[None]:
        """Return NOT_COORDINATOR to all parked requests."""
        for group in self.groups:
            self._kinds[group.group_type].unload(group)
            yield

    def maintenance(self) -> Iterator[Decision[None]]:
        return self.expiry.expire(self._clock.now_ms())


def register_group_metrics(metrics: Metrics, active_shards: Callable[[], list[GroupShard]]) -> None:
    """Group metrics under Kafka's names, counted at each scrape, over the partitions that this broker coordinates."""

    def count_in(state: str) -> Callable[[], float]:
        return lambda: sum(shard.groups.count_by_state()[state] for shard in active_shards())

    def gauge(name: str, read: Callable[[], float]) -> None:
        metrics.gauge(MetricName("kafka.coordinator.group", "GroupMetadataManager", name), read)

    gauge("NumGroups", lambda: sum(len(shard.groups) for shard in active_shards()))
    gauge("NumOffsets", lambda: sum(shard.offsets.count for shard in active_shards()))
    for state in GroupState:
        gauge(f"NumGroups{state.value}", count_in(state.value))
