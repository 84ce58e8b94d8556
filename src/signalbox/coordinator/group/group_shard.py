"""The groups and offsets of one partition of `__consumer_offsets`: components, replay, load and unload.

Each API has its own file; this one combines them on the same state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from signalbox.common.clock import Clock
from signalbox.common.ids import TopicPartition
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import CoordinatorRecord, Decision
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.heartbeat import Heartbeat
from signalbox.coordinator.group.classic.join_group import JoinGroup
from signalbox.coordinator.group.classic.leave_group import LeaveGroup
from signalbox.coordinator.group.classic.member import Member, Timeouts
from signalbox.coordinator.group.classic.membership_responses import rejected_join, rejected_sync
from signalbox.coordinator.group.classic.rebalance import Rebalance
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.group.classic.sync_group import SyncGroup
from signalbox.coordinator.group.client_context import ClientContext
from signalbox.coordinator.group.group_expiry import GroupExpiry
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.offset_commit import OffsetCommit
from signalbox.coordinator.group.offset_delete import OffsetDelete
from signalbox.coordinator.group.offset_fetch import OffsetFetch
from signalbox.coordinator.group.offset_store import CommittedOffset, OffsetStore
from signalbox.coordinator.ports import Timer
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.group_records import GroupMetadataValue, OffsetCommitKey

logger = logging.getLogger(__name__)


class GroupShard:
    """State of one partition. The public components take decisions; only `replay` applies records."""

    def __init__(
        self, partition: int, timer: Timer, clock: Clock, settings: GroupSettings, new_suffix: Callable[[], str]
    ) -> None:
        self.partition = partition
        self.groups = GroupMap(clock.now_ms)
        self.offsets = OffsetStore()
        self._clock = clock
        self._settings = settings
        self._loaded = False
        self._rebalance = Rebalance(timer, settings)
        self.join_group = JoinGroup(self.groups, self._rebalance, settings, new_suffix)
        self.sync_group = SyncGroup(self.groups, self._rebalance)
        self.heartbeat = Heartbeat(self.groups, self._rebalance)
        self.leave_group = LeaveGroup(self.groups, self._rebalance)
        self.offset_commit = OffsetCommit(self.groups, self.offsets, self._rebalance, settings)
        self.offset_fetch = OffsetFetch(self.groups, self.offsets)
        self.offset_delete = OffsetDelete(self.groups, self.offsets)
        self.expiry = GroupExpiry(self.groups, self.offsets, settings)

    def now_ms(self) -> int:
        return self._clock.now_ms()

    # --- replay

    def replay(self, record: CoordinatorRecord) -> None:
        key, value = record
        if isinstance(key, OffsetCommitKey):
            self._replay_offset(key, value)
        elif value is None:
            self._replay_group_tombstone(key.group)
        else:
            self.groups.put(self._group_of(key.group, value))

    def _replay_offset(self, key: OffsetCommitKey, value: object) -> None:
        partition = TopicPartition(key.topic, key.partition)
        if value is None:
            self.offsets.remove(key.group, partition)
            return
        # For offsets of a client that is not a member, the log has no group record: their group is empty.
        self.groups.get_or_create(key.group)
        self.offsets.put(key.group, partition, CommittedOffset.from_record(value))  # type: ignore[arg-type]

    def _replay_group_tombstone(self, group_id: str) -> None:
        """While loading, the log decides: the group is removed. Later the decision itself removed the group, so a
        group with this id is a newer one and is kept; unless an offset alone created it and is deleted by now."""
        group = self.groups.get(group_id)
        if group is not None and (not self._loaded or self._is_vacant(group)):
            self.groups.remove(group_id)

    def _is_vacant(self, group: ClassicGroup) -> bool:
        is_empty = group.state is GroupState.EMPTY and not group.pending_join
        return is_empty and not self.offsets.of_group(group.group_id)

    def _group_of(self, group_id: str, value: GroupMetadataValue) -> ClassicGroup:
        group = ClassicGroup(group_id, self._clock.now_ms)
        for stored in value.members:
            rebalance_timeout_ms = stored.rebalance_timeout
            if rebalance_timeout_ms < 0:
                rebalance_timeout_ms = stored.session_timeout
            member = Member(
                stored.member_id,
                stored.group_instance_id,
                ClientContext(stored.client_id, stored.client_host, 0),
                Timeouts(stored.session_timeout, rebalance_timeout_ms),
                value.protocol_type,
                ((value.protocol or "", stored.subscription),),
                assignment=stored.assignment,
            )
            group.add(member)
        group.generation_id = value.generation
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        group.leader_id = value.leader
        group.state = GroupState.STABLE if value.members else GroupState.EMPTY
        group.state_timestamp_ms = None if value.current_state_timestamp < 0 else value.current_state_timestamp
        group.subscribed = group.compute_subscribed()
        return group

    # --- load and unload

    def finish_loading(self) -> Iterator[None]:
        """Start the session timeout of every member; rebalance groups that are larger than `group.max.size`."""
        self._loaded = True
        for group in self.groups:
            for member in group.members.values():
                self._rebalance.reset_session_timeout(group, member)
            if len(group.members) > self._settings.max_size:
                logger.info("group %s has more members than group.max.size: it rebalances", group.group_id)
                self._rebalance.prepare(group)
            yield

    def unload(self) -> Iterator[None]:
        """Return NOT_COORDINATOR to all parked requests."""
        for group in self.groups:
            group.transition_to(GroupState.DEAD)
            for member in group.members.values():
                group.complete_join(member, rejected_join(member.member_id, Error.NOT_COORDINATOR))
                member.complete_sync(rejected_sync(Error.NOT_COORDINATOR))
            yield

    def maintenance(self) -> Iterator[Decision[None]]:
        return self.expiry.expire(self._clock.now_ms())
