from __future__ import annotations

import pytest
from tests.coordinator.bench import Bench, settle, transcript

from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D8")


@transcript
async def test_the_others_rebalance_when_one_leaves() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b")
    left = bench.leave((follower.member_id, None)).response
    assert (left.error_code, [member.error_code for member in left.members]) == (Error.NONE, [Error.NONE])
    assert bench.heartbeat(leader.member_id, 1) == Error.REBALANCE_IN_PROGRESS
    again = bench.join(leader.member_id)
    await settle()
    assert again.response.generation_id == 2


@transcript
async def test_the_last_that_leaves_leaves_an_empty_group_in_the_log() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    left = bench.leave((leader.member_id, None))
    await settle()
    assert left.response.members[0].error_code == Error.NONE
    stored = bench.logged_groups()[-1]
    assert (stored.generation, stored.protocol_type, stored.protocol, stored.leader, stored.members) == (
        2,
        "consumer",
        None,
        None,
        [],
    )
    assert bench.group().state is GroupState.EMPTY


@transcript
async def test_several_members_each_get_their_answer() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b")
    response = bench.leave((leader.member_id, None), ("unknown", None), (follower.member_id, "i1")).response
    assert [(member.member_id, member.error_code) for member in response.members] == [
        (leader.member_id, Error.NONE),
        ("unknown", Error.UNKNOWN_MEMBER_ID),
        (follower.member_id, Error.UNKNOWN_MEMBER_ID),
    ]


@transcript
async def test_an_administrator_removes_a_static_member_by_its_instance_id() -> None:
    bench = await Bench().start()
    joins = [bench.join(instance=instance) for instance in ("i1", "i2")]
    await bench.pass_time(9_000)
    waiting = bench.sync(joins[1].response, instance="i2")
    response = bench.leave(("", "i2"), ("", "i9"), ("", None)).response
    await settle()
    assert [(member.group_instance_id, member.error_code) for member in response.members] == [
        ("i2", Error.NONE),
        ("i9", Error.UNKNOWN_MEMBER_ID),
        (None, Error.UNKNOWN_MEMBER_ID),
    ]
    assert waiting.response.error_code == Error.UNKNOWN_MEMBER_ID
    left = bench.leave((joins[0].response.member_id, "i1"))
    await settle()
    assert left.response.members[0].error_code == Error.NONE


@transcript
async def test_a_fenced_static_member_cannot_leave_in_the_place_of_its_successor() -> None:
    bench = await Bench().start()
    first, second = bench.join(instance="i1"), bench.join(instance="i1")
    await bench.pass_time(6_000)
    assert second.response.error_code == Error.NONE
    left = bench.leave((first.response.member_id, "i1")).response
    assert left.members[0].error_code == Error.FENCED_INSTANCE_ID


@transcript
async def test_a_pending_member_can_leave() -> None:
    bench = await Bench().start()
    member_id = await bench.member()
    assert bench.leave((member_id, None)).response.members[0].error_code == Error.NONE
    assert bench.join(member_id).response.error_code == Error.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("group", "top", "members"),
    [("", Error.INVALID_GROUP_ID, []), ("other", Error.NONE, [Error.UNKNOWN_MEMBER_ID])],
)
@transcript
async def test_groups_that_cannot_be_left(group: str, top: Error, members: list[Error]) -> None:
    bench = await Bench().start()
    response = bench.leave(("m", None), group=group).response
    assert (response.error_code, [member.error_code for member in response.members]) == (top, members)


@transcript
async def test_before_version_3_the_members_error_is_the_responses() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    assert bench.leave(("unknown", None), version=2).response.error_code == Error.UNKNOWN_MEMBER_ID
    left = bench.leave((leader.member_id, None), version=2)
    await settle()
    assert (left.response.error_code, left.response.members) == (Error.NONE, [])
