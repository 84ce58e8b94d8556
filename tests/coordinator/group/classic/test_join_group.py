from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.bench import SESSION_MS, Bench, settle, subscription, transcript

from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D8")


@transcript
async def test_a_member_without_an_id_gets_one_and_must_come_again() -> None:
    bench = await Bench().start()
    first = bench.join().response
    assert (first.error_code, first.member_id) == (Error.MEMBER_ID_REQUIRED, "client-1")
    again = bench.join(first.member_id)
    assert not again.answered
    await bench.pass_time(3_000)
    assert again.response.error_code == Error.NONE
    assert again.response.leader == first.member_id == again.response.member_id
    assert again.response.generation_id == 1
    assert (again.response.protocol_type, again.response.protocol_name) == ("consumer", "range")
    assert [member.member_id for member in again.response.members] == [first.member_id]


@transcript
async def test_before_version_4_a_member_joins_at_once() -> None:
    bench = await Bench().start()
    join = bench.join(version=3)
    await bench.pass_time(3_000)
    assert (join.response.error_code, join.response.member_id) == (Error.NONE, "client-1")


@transcript
async def test_a_new_group_waits_longer_while_members_keep_coming() -> None:
    bench = await Bench(GroupSettings(initial_rebalance_delay_ms=3_000)).start()
    one = bench.join(version=3)
    await bench.pass_time(2_000)
    two = bench.join(version=3)
    await bench.pass_time(1_000)
    assert not one.answered
    await bench.pass_time(3_000)
    assert one.response.generation_id == two.response.generation_id == 1
    assert len(one.response.members) == 2
    assert two.response.members == []
    assert two.response.leader == one.response.member_id


@transcript
async def test_the_initial_wait_never_exceeds_the_rebalance_timeout() -> None:
    bench = await Bench().start()
    joins = []
    for _ in range(5):
        joins.append(bench.join(version=3, rebalance_ms=7_000))
        await bench.pass_time(2_000)
    assert [join.answered for join in joins] == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group": ""}, Error.INVALID_GROUP_ID),
        ({"session_ms": 5_999}, Error.INVALID_SESSION_TIMEOUT),
        ({"session_ms": 1_800_001}, Error.INVALID_SESSION_TIMEOUT),
        ({"member_id": "unknown"}, Error.UNKNOWN_MEMBER_ID),
        ({"protocol_type": ""}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, Error.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
@transcript
async def test_joins_that_are_rejected(fields: dict[str, Any], error: Error) -> None:
    bench = await Bench().start()
    response = bench.join(**fields).response
    assert response.error_code == error
    assert response.member_id == fields.get("member_id", "")


@pytest.mark.parametrize(
    "fields",
    [{"protocol_type": "connect"}, {"protocols": (("sticky", subscription("t")),)}],
    ids=["other type", "no common protocol"],
)
@transcript
async def test_a_member_that_shares_no_protocol_is_rejected(fields: dict[str, Any]) -> None:
    bench = await Bench().start()
    await bench.stable_group(b"a")
    assert bench.join(**fields).response.error_code == Error.INCONSISTENT_GROUP_PROTOCOL


@transcript
async def test_the_protocol_most_members_prefer_is_chosen_among_those_all_know() -> None:
    bench = await Bench().start()
    data = subscription("t")
    joins = [
        bench.join(version=3, protocols=(("only-mine", data), ("range", data), ("sticky", data))),
        bench.join(version=3, protocols=(("sticky", data), ("range", data))),
        bench.join(version=3, protocols=(("sticky", data), ("range", data))),
    ]
    await bench.pass_time(6_000)
    assert {join.response.protocol_name for join in joins} == {"sticky"}


@transcript
async def test_a_follower_that_rejoins_unchanged_gets_the_generation_without_a_rebalance() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b")
    again = bench.join(follower.member_id).response
    assert (again.error_code, again.generation_id, again.leader) == (Error.NONE, 1, leader.member_id)
    assert bench.heartbeat(leader.member_id, 1) == Error.NONE


@transcript
async def test_a_leader_that_joins_again_forces_a_rebalance() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b")
    again = bench.join(leader.member_id)
    assert not again.answered
    assert bench.heartbeat(follower.member_id, 1) == Error.REBALANCE_IN_PROGRESS
    both = [again, bench.join(follower.member_id)]
    assert {join.response.generation_id for join in both} == {2}


@transcript
async def test_changed_metadata_of_a_follower_forces_a_rebalance() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b")
    again = bench.join(follower.member_id, protocols=(("range", subscription("u")),))
    assert not again.answered
    assert bench.heartbeat(leader.member_id, 1) == Error.REBALANCE_IN_PROGRESS


@transcript
async def test_joining_again_while_the_assignment_is_waited_for_gives_the_same_generation() -> None:
    bench = await Bench().start()
    join = bench.join(version=3)
    await bench.pass_time(3_000)
    again = bench.join(join.response.member_id).response
    assert (again.generation_id, len(again.members)) == (1, 1)


@transcript
async def test_a_member_that_does_not_rejoin_in_time_is_removed() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b", session_ms=100_000)
    again = bench.join(leader.member_id, session_ms=100_000)
    await bench.pass_time(60_000)
    assert [member.member_id for member in again.response.members] == [leader.member_id]
    assert bench.heartbeat(follower.member_id, 1) == Error.UNKNOWN_MEMBER_ID


@transcript
async def test_a_leader_that_does_not_join_again_is_replaced() -> None:
    bench = await Bench().start()
    _, follower = await bench.stable_group(b"a", b"b", session_ms=100_000)
    again = bench.join(follower.member_id, protocols=(("range", subscription("u")),), session_ms=100_000)
    await bench.pass_time(60_000)
    assert again.response.leader == follower.member_id
    assert len(again.response.members) == 1


@transcript
async def test_a_pending_member_that_never_comes_again_does_not_hold_up_the_others() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    await bench.member()
    again = bench.join(leader.member_id)
    assert not again.answered, "an id was given away: its owner is waited for"
    await bench.pass_time(SESSION_MS)
    assert again.response.generation_id == 2


@transcript
async def test_a_full_group_takes_no_more_members() -> None:
    bench = await Bench(GroupSettings(max_size=2)).start()
    await bench.stable_group(b"a", b"b")
    response = bench.join().response
    assert (response.error_code, response.member_id) == (Error.GROUP_MAX_SIZE_REACHED, "")


@transcript
async def test_of_an_oversized_rebalance_the_last_are_turned_away() -> None:
    bench = await Bench(GroupSettings(max_size=2)).start()
    joins = [bench.join(version=3) for _ in range(3)]
    await bench.pass_time(9_000)
    assert [join.response.error_code for join in joins] == [
        Error.NONE,
        Error.NONE,
        Error.GROUP_MAX_SIZE_REACHED,
    ]


@transcript
async def test_a_new_members_parked_join_is_bounded_in_time() -> None:
    bench = await Bench(GroupSettings(new_member_join_timeout_ms=20_000)).start()
    leader, _ = await bench.stable_group(b"a", b"b", session_ms=500_000, rebalance_ms=500_000)
    new_member = bench.join(version=3, rebalance_ms=500_000)
    await bench.pass_time(19_500)
    assert not new_member.answered
    await bench.pass_time(500)
    assert new_member.response.error_code == Error.UNKNOWN_MEMBER_ID
    assert leader.member_id in bench.group().members


@transcript
async def test_a_second_join_of_a_waiting_member_replaces_the_first() -> None:
    bench = await Bench().start()
    member_id = await bench.member()
    first, second = bench.join(member_id), bench.join(member_id)
    await settle()
    assert first.response.error_code == Error.REBALANCE_IN_PROGRESS
    await bench.pass_time(3_000)
    assert second.response.error_code == Error.NONE


@transcript
async def test_a_group_that_no_member_completed_joining_is_empty_again() -> None:
    bench = await Bench().start()
    join = bench.join(version=3)
    await settle()
    assert bench.leave(("client-1", None)).response.members[0].error_code == Error.NONE
    assert join.response.error_code == Error.UNKNOWN_MEMBER_ID
    await bench.pass_time(3_000)
    assert bench.group().state is GroupState.EMPTY
