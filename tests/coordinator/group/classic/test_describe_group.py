from __future__ import annotations

import pytest
from tests.coordinator.bench import CLIENT, Bench, BenchCall, subscription, transcript
from tests.coordinator.group.other_group import OtherGroup

from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_groups import DescribeGroupsRequest


def describe(bench: Bench, *groups: str, version: int = 6) -> list:  # type: ignore[type-arg]
    reply = bench.coordinator.describe_groups(
        DescribeGroupsRequest(groups=list(groups)), CLIENT._replace(api_version=version)
    )
    return list(BenchCall(reply).response.groups)


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
async def test_a_group_of_another_type_is_not_found() -> None:
    bench = await Bench().start()
    bench.shard.groups.put(OtherGroup("other"))
    assert describe(bench, "other")[0].error_code == Error.GROUP_ID_NOT_FOUND
