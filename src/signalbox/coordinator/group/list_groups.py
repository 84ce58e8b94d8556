"""ListGroups 0–5: the groups of a shard, of every type."""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.coordinator.group.group import Group
from signalbox.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse


def listed(groups: Iterable[Group], request: ListGroupsRequest) -> list[ListGroupsResponse.ListedGroup]:
    """The groups that pass the request's filters (states: KIP-518, types: KIP-848; case-insensitive)."""
    states = {state.lower() for state in request.states_filter}
    types = {type_name.lower() for type_name in request.types_filter}
    return [
        ListGroupsResponse.ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state_name,
            group_type=group.group_type.value,
        )
        for group in groups
        if (not states or group.state_name.lower() in states) and (not types or group.group_type.value in types)
    ]
