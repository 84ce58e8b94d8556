"""The classic groups of a shard: their lookup, the replay of their records, load and unload."""

from __future__ import annotations

import logging
from collections.abc import Callable

from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.member import ClientContext, Member, Timeouts
from signalbox.coordinator.group.classic.membership_responses import rejected_join, rejected_sync
from signalbox.coordinator.group.classic.rebalance import Rebalance
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.group_records import GroupMetadataValue

logger = logging.getLogger(__name__)


class ClassicGroups:
    """A view of the shard's groups; implements `GroupKind`. `now_ms`: see `ClassicGroup`."""

    def __init__(
        self, groups: GroupMap, rebalance: Rebalance, settings: GroupSettings, now_ms: Callable[[], int]
    ) -> None:
        self._groups = groups
        self._rebalance = rebalance
        self._settings = settings
        self._now_ms = now_ms

    def get(self, group_id: str) -> ClassicGroup | None:
        """The group; None also if it is of another type."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def get_or_create(self, group_id: str) -> ClassicGroup:
        """Raises KafkaError(GROUP_ID_NOT_FOUND) if a group of another type has the id."""
        group = self.get(group_id)
        if group is None and self._groups.get(group_id) is not None:
            raise KafkaError(Error.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a classic group.")
        return self._groups.put(ClassicGroup(group_id, self._now_ms)) if group is None else group

    # --- GroupKind

    def replay(self, group_id: str, value: GroupMetadataValue) -> None:
        self._groups.put(_stored_group(group_id, value, self._now_ms))

    def finish_loading(self, group: ClassicGroup) -> None:
        """Start the session timeout of every member; rebalance a group that is larger than `group.max.size`."""
        for member in group.members.values():
            self._rebalance.reset_session_timeout(group, member)
        if len(group.members) > self._settings.max_size:
            logger.info("group %s has more members than group.max.size: it rebalances", group.group_id)
            self._rebalance.prepare(group)

    def unload(self, group: ClassicGroup) -> None:
        group.transition_to(GroupState.DEAD)
        for member in group.members.values():
            group.complete_join(member, rejected_join(member.member_id, Error.NOT_COORDINATOR))
            member.complete_sync(rejected_sync(Error.NOT_COORDINATOR))

    def offsets_committed(self, group: ClassicGroup, member_id: str) -> None:
        member = group.members.get(member_id)
        if member is not None and group.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE):
            self._rebalance.reset_session_timeout(group, member)


def _stored_group(group_id: str, value: GroupMetadataValue, now_ms: Callable[[], int]) -> ClassicGroup:
    group = ClassicGroup(group_id, now_ms)
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
