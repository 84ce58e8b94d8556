"""DescribeGroups 0–6 for one group.

An unknown group has the state Dead; from DescribeGroups 6 on it is also an error (KIP-1043); so has a group of another
type, which has an API of its own. Member metadata and assignments are returned for stable groups only: in other states
they are about to change.
"""

from __future__ import annotations

from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.classic_groups import ClassicGroups
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_groups import DescribeGroupsResponse

GROUP_ID_NOT_FOUND_FROM = 6

DescribedGroup = DescribeGroupsResponse.DescribedGroup
DescribedMember = DescribeGroupsResponse.DescribedGroupMember


class DescribeGroup:
    def __init__(self, groups: ClassicGroups) -> None:
        self._groups = groups

    def describe(self, group_id: str, api_version: int) -> DescribedGroup:
        group = self._groups.get(group_id)
        if group is None:
            missing = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
            if api_version >= GROUP_ID_NOT_FOUND_FROM:
                missing.error_code = Error.GROUP_ID_NOT_FOUND
                missing.error_message = f"Group {group_id} not found."
            return missing
        stable = group.state is GroupState.STABLE
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state.value,
            protocol_type=group.protocol_type or "",
            protocol_data=(group.protocol_name or "") if stable else "",
            members=_members(group, stable),
        )


def _members(group: ClassicGroup, stable: bool) -> list[DescribedMember]:
    return [
        DescribedMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client.client_id,
            client_host=member.client.client_host,
            member_metadata=member.metadata(group.protocol_name) if stable else b"",
            member_assignment=member.assignment if stable else b"",
        )
        for member in group.members.values()
    ]
