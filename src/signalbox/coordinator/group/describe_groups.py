"""DescribeGroups 0–6 and ListGroups 0–5: responses about the groups of a shard.

An unknown group has the state Dead; from DescribeGroups 6 on it is also an error (KIP-1043). Member metadata and
assignments are returned for stable groups only: in other states they are about to change.
"""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_groups import DescribeGroupsResponse
from signalbox.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

GROUP_ID_NOT_FOUND_FROM = 6
CLASSIC_TYPE = "classic"

DescribedGroup = DescribeGroupsResponse.DescribedGroup
DescribedMember = DescribeGroupsResponse.DescribedGroupMember


def describe(groups: GroupMap, group_id: str, api_version: int) -> DescribedGroup:
    group = groups.get(group_id)
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


def listed(groups: Iterable[ClassicGroup], request: ListGroupsRequest) -> list[ListGroupsResponse.ListedGroup]:
    """The groups that pass the request's filters (states: KIP-518, types: KIP-848; case-insensitive)."""
    states = {state.lower() for state in request.states_filter}
    types = {type_name.lower() for type_name in request.types_filter}
    if types and CLASSIC_TYPE not in types:
        return []
    return [
        ListGroupsResponse.ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=CLASSIC_TYPE,
        )
        for group in groups
        if not states or group.state.value.lower() in states
    ]
