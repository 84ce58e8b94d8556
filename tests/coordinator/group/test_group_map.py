from __future__ import annotations

from tests.coordinator.bench import CLIENT, Bench, settle, transcript
from tests.coordinator.group.other_group import OtherGroup

from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.group_map import listed as listed_groups
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.list_groups import ListGroupsRequest


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


def listed(bench: Bench, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list:  # type: ignore[type-arg]
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    response = bench.coordinator.list_groups(request, CLIENT._replace(api_version=5)).result()
    assert response.error_code == Error.NONE
    return [(group.group_id, group.protocol_type, group.group_state, group.group_type) for group in response.groups]


@transcript
async def test_groups_are_listed_and_filtered_by_state_and_type() -> None:
    bench = await Bench().start()
    await bench.stable_group(b"a", group="busy")
    bench.commit({("t", 0): 5}, group="simple")
    await settle()
    busy = ("busy", "consumer", "Stable", "classic")
    simple = ("simple", "", "Empty", "classic")
    assert sorted(listed(bench)) == [busy, simple]
    assert listed(bench, states=("stable",)) == [busy]
    assert listed(bench, states=("Empty", "Dead")) == [simple]
    assert listed(bench, states=("nonsense",)) == []
    assert sorted(listed(bench, types=("Classic",))) == [busy, simple]
    assert listed(bench, types=("consumer",)) == []


@transcript
async def test_while_a_partition_loads_the_list_is_incomplete_and_says_so() -> None:
    bench = Bench()
    bench.log.lead(0, 1)
    bench.coordinator.on_elected(0, 1)
    response = bench.coordinator.list_groups(ListGroupsRequest(), CLIENT).result()
    assert (response.error_code, response.groups) == (Error.COORDINATOR_LOAD_IN_PROGRESS, [])
    await settle()
    assert bench.coordinator.list_groups(ListGroupsRequest(), CLIENT).result().error_code == Error.NONE


def test_a_group_of_another_type_is_listed_with_its_own_states() -> None:
    (group,) = listed_groups([OtherGroup("other")], ListGroupsRequest(states_filter=["Assigning"]))
    assert (group.group_id, group.group_state) == ("other", "Assigning")
