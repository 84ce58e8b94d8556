"""The groups of one shard by id, of any type; ListGroups 0–5."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar

from signalbox.coordinator.group.group import Group
from signalbox.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse

G = TypeVar("G", bound=Group)


class GroupMap:
    """Lookup of groups; the packages of the types create them."""

    def __init__(self) -> None:
        self._groups: dict[str, Group] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[Group]:
        """Iterates over a copy: groups may be added and removed meanwhile."""
        return iter(list(self._groups.values()))

    def get(self, group_id: str) -> Group | None:
        return self._groups.get(group_id)

    def put(self, group: G) -> G:
        self._groups[group.group_id] = group
        return group

    def restore(self, group: Group) -> None:
        """Put back a group whose removal failed, unless a new group has its id by now."""
        self._groups.setdefault(group.group_id, group)

    def remove(self, group_id: str) -> None:
        self._groups.pop(group_id, None)

    def count_by_state(self) -> Counter[str]:
        """Groups by the name of their state."""
        return Counter(group.state_name for group in self._groups.values())


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
