"""The groups of one shard by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.states import GroupState


class GroupMap:
    """Lookup and creation of groups; the caller decides when a group is created."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._groups: dict[str, ClassicGroup] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[ClassicGroup]:
        """Iterates over a copy: groups may be added and removed meanwhile."""
        return iter(list(self._groups.values()))

    def get(self, group_id: str) -> ClassicGroup | None:
        return self._groups.get(group_id)

    def get_or_create(self, group_id: str) -> ClassicGroup:
        group = self._groups.get(group_id)
        return self.put(ClassicGroup(group_id, self._now_ms)) if group is None else group

    def put(self, group: ClassicGroup) -> ClassicGroup:
        self._groups[group.group_id] = group
        return group

    def restore(self, group: ClassicGroup) -> None:
        """Put back a group whose removal failed, unless a new group has its id by now."""
        self._groups.setdefault(group.group_id, group)

    def remove(self, group_id: str) -> None:
        self._groups.pop(group_id, None)

    def count_by_state(self) -> Counter[GroupState]:
        return Counter(group.state for group in self._groups.values())
