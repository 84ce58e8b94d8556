"""The record of a classic group in `__consumer_offsets`: Kafka's GroupMetadataValue."""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.member import NO_ASSIGNMENT
from signalbox.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue


def group_record(group: ClassicGroup, assignment: Mapping[str, bytes]) -> CoordinatorRecord:
    """The group with its current generation; members that are not in `assignment` have an empty one."""
    members = [
        GroupMetadataValue.MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client.client_id,
            client_host=member.client.client_host,
            rebalance_timeout=member.timeouts.rebalance_timeout_ms,
            session_timeout=member.timeouts.session_timeout_ms,
            subscription=member.metadata(group.protocol_name),
            assignment=assignment.get(member.member_id, NO_ASSIGNMENT),
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=-1 if group.state_timestamp_ms is None else group.state_timestamp_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value)


def empty_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """The group without members; its offsets are kept."""
    return group_record(group, {})
