from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.bench import Bench, settle, transcript

from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D8")


async def joined_pair(bench: Bench):  # type: ignore[no-untyped-def]
    joins = [bench.join(version=3), bench.join(version=3)]
    await bench.pass_time(6_000)
    return [join.response for join in joins]


@transcript
async def test_followers_wait_for_the_leaders_assignment_and_all_get_theirs() -> None:
    bench = await Bench().start()
    leader, follower = await joined_pair(bench)
    waiting = bench.sync(follower)
    await settle()
    assert not waiting.answered
    given = bench.sync(leader, {leader.member_id: b"one", follower.member_id: b"two"})
    await settle()
    assert (given.response.assignment, waiting.response.assignment) == (b"one", b"two")
    assert (given.response.protocol_type, given.response.protocol_name) == ("consumer", "range")
    assert bench.group().state is GroupState.STABLE


@transcript
async def test_the_assignment_counts_only_once_it_is_in_the_log() -> None:
    bench = await Bench().start()
    bench.log.held = True
    leader, follower = await joined_pair(bench)
    waiting = bench.sync(follower)
    given = bench.sync(leader, {leader.member_id: b"one", follower.member_id: b"two"})
    await settle()
    assert not given.answered
    assert not waiting.answered
    bench.log.commit_all()
    await settle()
    assert (given.response.assignment, waiting.response.assignment) == (b"one", b"two")


@transcript
async def test_a_member_the_leader_forgot_gets_an_empty_assignment() -> None:
    bench = await Bench().start()
    leader, follower = await joined_pair(bench)
    waiting = bench.sync(follower)
    bench.sync(leader, {leader.member_id: b"one"})
    await settle()
    assert (waiting.response.error_code, waiting.response.assignment) == (Error.NONE, b"")


@transcript
async def test_in_a_stable_group_the_assignment_is_returned_again() -> None:
    bench = await Bench().start()
    _, follower = await bench.stable_group(b"one", b"two")
    assert bench.sync(follower).response.assignment == b"two"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group": ""}, Error.INVALID_GROUP_ID),
        ({"group": "other"}, Error.UNKNOWN_MEMBER_ID),
        ({"generation": 7}, Error.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None, "protocol_name": None, "version": 4}, Error.NONE),
        ({"protocol_type": None, "version": 5}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": None, "version": 5}, Error.INCONSISTENT_GROUP_PROTOCOL),
        ({"instance": "i1"}, Error.UNKNOWN_MEMBER_ID),
    ],
)
@transcript
async def test_what_is_checked(fields: dict[str, Any], error: Error) -> None:
    bench = await Bench().start()
    _, follower = await bench.stable_group(b"one", b"two")
    assert bench.sync(follower, **fields).response.error_code == error


@transcript
async def test_while_members_are_gathered_nothing_is_assigned() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"one", b"two")
    bench.join(leader.member_id)
    assert bench.sync(follower).response.error_code == Error.REBALANCE_IN_PROGRESS


@transcript
async def test_a_join_during_the_sync_phase_sends_those_that_wait_back_to_join() -> None:
    bench = await Bench().start()
    leader, follower = await joined_pair(bench)
    waiting = bench.sync(follower)
    new_member = bench.join(version=3)
    await settle()
    assert waiting.response.error_code == Error.REBALANCE_IN_PROGRESS
    for member_id in (leader.member_id, follower.member_id):
        bench.join(member_id)
    await settle()
    assert new_member.response.generation_id == 2


@pytest.mark.parametrize(
    ("rejection", "client_error"),
    [
        (Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR),
        (Error.KAFKA_STORAGE_ERROR, Error.NOT_COORDINATOR),
        (Error.MESSAGE_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
    ],
)
@transcript
async def test_an_assignment_that_cannot_be_written_is_rejected_and_the_group_rebalances(
    rejection: Error, client_error: Error
) -> None:
    bench = await Bench().start()
    leader, follower = await joined_pair(bench)
    waiting = bench.sync(follower)
    bench.log.rejection = rejection
    given = bench.sync(leader, {leader.member_id: b"one", follower.member_id: b"two"})
    await settle()
    assert given.response.error_code == waiting.response.error_code == client_error
    assert bench.group().state is GroupState.PREPARING_REBALANCE
    bench.log.rejection = None
    again = [bench.join(leader.member_id), bench.join(follower.member_id)]
    await settle()
    assert {join.response.generation_id for join in again} == {2}


@transcript
async def test_an_assignment_of_a_generation_that_is_over_is_not_handed_out() -> None:
    bench = await Bench().start()
    bench.log.held = True
    leader, follower = await joined_pair(bench)
    late = bench.sync(leader, {leader.member_id: b"one", follower.member_id: b"two"})
    await settle()
    new_member = bench.join(version=3)
    await settle()
    assert late.response.error_code == Error.REBALANCE_IN_PROGRESS
    bench.log.commit_all()
    await settle()
    group = bench.group()
    assert group.state is GroupState.PREPARING_REBALANCE
    assert {member.assignment for member in group.members.values()} == {b""}
    assert not new_member.answered


@transcript
async def test_members_that_never_ask_for_their_assignment_are_out() -> None:
    bench = await Bench().start()
    leader, follower = await joined_pair(bench)
    bench.sync(leader, {leader.member_id: b"one"})
    for _ in range(12):
        assert bench.heartbeat(follower.member_id, 1) == bench.heartbeat(leader.member_id, 1) == Error.NONE
        await bench.pass_time(5_000)
    assert bench.heartbeat(follower.member_id, 1) == Error.UNKNOWN_MEMBER_ID
    assert bench.heartbeat(leader.member_id, 1) == Error.REBALANCE_IN_PROGRESS


@transcript
async def test_a_second_sync_of_a_waiting_member_replaces_the_first() -> None:
    bench = await Bench().start()
    leader, follower = await joined_pair(bench)
    first, second = bench.sync(follower), bench.sync(follower)
    await settle()
    assert first.response.error_code == Error.REBALANCE_IN_PROGRESS
    bench.sync(leader, {leader.member_id: b"one", follower.member_id: b"two"})
    await settle()
    assert second.response.assignment == b"two"
