from __future__ import annotations

from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.group_map import GroupMap


def test_groups_come_go_and_come_back_unless_replaced() -> None:
    groups = GroupMap()
    first = groups.put(ClassicGroup("g", lambda: 1))
    assert groups.get("g") is first
    groups.remove("g")
    assert (groups.get("g"), len(groups)) == (None, 0)
    groups.restore(first)
    assert groups.get("g") is first
    groups.remove("g")
    second = groups.put(ClassicGroup("g", lambda: 1))
    groups.restore(first)
    assert groups.get("g") is second


def test_a_walk_is_not_disturbed_by_what_it_does() -> None:
    groups = GroupMap()
    for name in "abc":
        groups.put(ClassicGroup(name, lambda: 1))
    for group in groups:
        groups.remove(group.group_id)
        groups.put(ClassicGroup("new", lambda: 1))
    assert [group.group_id for group in groups] == ["new"]
    assert groups.count_by_state() == {"Empty": 1}
