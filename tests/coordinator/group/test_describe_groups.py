from __future__ import annotations

import pytest
from tests.coordinator.bench import CLIENT, Bench, BenchCall, settle, subscription, transcript

from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_groups import DescribeGroupsRequest
from signalbox.protocol.messages.list_groups import ListGroupsRequest


def describe(bench: Bench, *groups: str, version: int = 6) -> list:  # type: ignore[type-arg]
    reply = bench.coordinator.describe_groups(
        DescribeGroupsRequest(groups=list(groups)), CLIENT._replace(api_version=version)
    )
    return list(BenchCall(reply).response.groups)


def listed(bench: Bench, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> list:  # type: ignore[type-arg]
    request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
    response = bench.coordinator.list_groups(request, CLIENT._replace(api_version=5)).result()
    assert response.error_code == Error.NONE
    return [(group.group_id, group.protocol_type, group.group_state, group.group_type) for group in response.groups]


@transcript
async def test_a_stable_group_shows_its_members_with_metadata_and_assignment() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    (group,) = describe(bench, "g")
    assert (group.error_code, group.group_state) == (Error.NONE, "Stable")
    assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (leader.member_id, "client", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (subscription("t"), b"a")


@transcript
async def test_elsewhere_members_are_shown_without_what_is_about_to_change() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    await bench.member()
    bench.join(leader.member_id)
    (group,) = describe(bench, "g")
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [(member.member_metadata, member.member_assignment) for member in group.members] == [(b"", b"")]


@pytest.mark.parametrize(("version", "error"), [(5, Error.NONE), (6, Error.GROUP_ID_NOT_FOUND)])
@transcript
async def test_an_unknown_group_is_dead_and_from_version_6_an_error(version: int, error: Error) -> None:
    bench = await Bench().start()
    (group,) = describe(bench, "x", version=version)
    assert (group.group_state, group.error_code) == ("Dead", error)
    assert (group.error_message is None) == (version == 5)


@transcript
async def test_a_partition_that_is_led_elsewhere_is_an_error_of_its_groups() -> None:
    bench = Bench()
    assert [group.error_code for group in describe(bench, "g", "h")] == [Error.NOT_COORDINATOR] * 2


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
