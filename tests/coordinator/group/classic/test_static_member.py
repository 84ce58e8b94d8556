"""KIP-345: a static member keeps its membership across restarts; its former member id is fenced."""

from __future__ import annotations

import pytest
from tests.coordinator.bench import Bench, settle, subscription, transcript

from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D8")


async def static_pair(bench: Bench) -> tuple[str, str]:
    """A stable group of two static members, "i1" leading; their member ids."""
    joins = [bench.join(instance=instance, client=instance) for instance in ("i1", "i2")]
    await bench.pass_time(9_000)
    one, two = (join.response for join in joins)
    assert one.leader == one.member_id
    syncs = [
        bench.sync(one, {one.member_id: b"a1", two.member_id: b"a2"}, instance="i1"),
        bench.sync(two, instance="i2"),
    ]
    await settle()
    assert [sync.response.assignment for sync in syncs] == [b"a1", b"a2"]
    return one.member_id, two.member_id


@transcript
async def test_a_static_member_needs_no_second_join() -> None:
    bench = await Bench().start()
    join = bench.join(instance="i1")
    await bench.pass_time(3_000)
    assert join.response.error_code == Error.NONE
    assert join.response.member_id == "i1-1"
    assert join.response.members[0].group_instance_id == "i1"


@transcript
async def test_a_follower_that_returns_keeps_its_assignment_without_a_rebalance() -> None:
    bench = await Bench().start()
    one, two = await static_pair(bench)
    back = bench.join(instance="i2")
    await settle()
    assert (back.response.error_code, back.response.generation_id) == (Error.NONE, 1)
    assert back.response.member_id not in (one, two)
    assert back.response.leader == one
    assert not back.response.skip_assignment
    assert bench.heartbeat(one, 1, instance="i1") == Error.NONE
    again = bench.sync(back.response, instance="i2")
    assert again.response.assignment == b"a2"
    stored = bench.logged_groups()[-1]
    assert {member.member_id: member.assignment for member in stored.members} == {
        one: b"a1",
        back.response.member_id: b"a2",
    }


@transcript
async def test_a_leader_that_returns_gets_skip_assignment() -> None:
    bench = await Bench().start()
    await static_pair(bench)
    back = bench.join(instance="i1", version=9)
    await settle()
    assert back.response.skip_assignment
    assert back.response.leader == back.response.member_id
    assert len(back.response.members) == 2


@transcript
async def test_an_older_leader_that_returns_gets_its_former_member_id_as_leader() -> None:
    bench = await Bench().start()
    one, _ = await static_pair(bench)
    back = bench.join(instance="i1", version=8)
    await settle()
    assert (back.response.leader, back.response.members, back.response.skip_assignment) == (one, [], False)


@transcript
async def test_the_former_self_is_fenced() -> None:
    bench = await Bench().start()
    _, two = await static_pair(bench)
    back = bench.join(instance="i2")
    await settle()
    assert bench.heartbeat(two, 1, instance="i2") == Error.FENCED_INSTANCE_ID
    assert bench.join(two, instance="i2").response.error_code == Error.FENCED_INSTANCE_ID
    assert bench.heartbeat(two, 1) == Error.UNKNOWN_MEMBER_ID
    assert bench.heartbeat(back.response.member_id, 1, instance="i2") == Error.NONE
    assert bench.heartbeat(back.response.member_id, 1, instance="i9") == Error.UNKNOWN_MEMBER_ID
    commit = bench.commit({("t", 0): 1}, member_id=two, generation=1, instance="i2").response
    assert commit.topics[0].partitions[0].error_code == Error.FENCED_INSTANCE_ID


@transcript
async def test_a_join_parked_under_the_former_id_is_answered_with_fenced() -> None:
    bench = await Bench().start()
    first = bench.join(instance="i1")
    second = bench.join(instance="i1")
    await settle()
    assert first.response.error_code == Error.FENCED_INSTANCE_ID
    await bench.pass_time(6_000)
    assert (second.response.error_code, len(second.response.members)) == (Error.NONE, 1)


@transcript
async def test_a_return_during_the_sync_phase_begins_a_new_rebalance() -> None:
    bench = await Bench().start()
    joins = [bench.join(instance=instance) for instance in ("i1", "i2")]
    await bench.pass_time(9_000)
    waiting = bench.sync(joins[1].response, instance="i2")
    back = bench.join(instance="i2")
    await settle()
    assert waiting.response.error_code == Error.FENCED_INSTANCE_ID
    assert not back.answered
    bench.join(joins[0].response.member_id, instance="i1")
    await settle()
    assert back.response.generation_id == 2


@transcript
async def test_a_return_that_changes_the_chosen_protocol_begins_a_rebalance() -> None:
    bench = await Bench().start()
    data = subscription("t")
    both = (("range", data), ("sticky", data))
    join = bench.join(instance="i1", protocols=both)
    await bench.pass_time(3_000)
    bench.sync(join.response, {join.response.member_id: b"a"}, instance="i1")
    await settle()
    back = bench.join(instance="i1", protocols=(("sticky", data), ("range", data)))
    await settle()
    assert (back.response.generation_id, back.response.protocol_name) == (2, "sticky")


@transcript
async def test_static_members_that_miss_a_rebalance_stay_until_their_session_ends() -> None:
    bench = await Bench().start()
    one, two = await static_pair(bench)
    for _ in range(40):
        await bench.pass_time(5_000)
        if bench.heartbeat(two, 1, instance="i2"):
            break
    assert bench.group().state is GroupState.PREPARING_REBALANCE, "i1 was silent and is out"
    again = bench.join(two, instance="i2")
    await settle()
    assert [member.member_id for member in again.response.members] == [two]
    assert bench.heartbeat(one, 1, instance="i1") == Error.UNKNOWN_MEMBER_ID


@transcript
async def test_when_no_member_joins_static_members_are_waited_for_once_more() -> None:
    bench = await Bench().start()
    one, _ = await static_pair(bench)
    group = bench.group()
    for member_id, instance in (("i1-1", "i1"), ("i2-2", "i2")):
        group.members[member_id].timeouts = group.members[member_id].timeouts._replace(session_timeout_ms=200_000)
        assert bench.heartbeat(member_id, 1, instance=instance) == Error.NONE
    new_member = bench.join(version=3)
    bench.leave(("client-3", None))
    await bench.pass_time(120_000)
    assert new_member.response.error_code == Error.UNKNOWN_MEMBER_ID
    assert group.state is GroupState.PREPARING_REBALANCE
    again = bench.join(one, instance="i1")
    await bench.pass_time(60_000)
    assert (again.response.error_code, again.response.generation_id) == (Error.NONE, 2)
    assert len(again.response.members) == 2, "the other one's session lasts: it keeps its place"


@pytest.mark.parametrize("version", [8, 9])
@transcript
async def test_a_return_that_cannot_be_written_is_taken_back(version: int) -> None:
    bench = await Bench().start()
    one, two = await static_pair(bench)
    bench.log.rejection = Error.NOT_ENOUGH_REPLICAS
    back = bench.join(instance="i2", version=version)
    await settle()
    assert (back.response.error_code, back.response.member_id) == (Error.COORDINATOR_NOT_AVAILABLE, "")
    assert bench.heartbeat(two, 1, instance="i2") == Error.NONE
    assert bench.heartbeat(one, 1, instance="i1") == Error.NONE


@transcript
async def test_two_returns_in_a_row_while_the_first_is_being_written() -> None:
    bench = await Bench().start()
    await static_pair(bench)
    bench.log.held = True
    first, second = bench.join(instance="i2"), None
    await settle()
    second = bench.join(instance="i2")
    await settle()
    assert first.response.error_code == Error.FENCED_INSTANCE_ID
    bench.log.commit_all()
    await settle()
    assert second.response.error_code == Error.NONE
    assert bench.heartbeat(second.response.member_id, 1, instance="i2") == Error.NONE
