from __future__ import annotations

import pytest
from tests.coordinator.bench import CLIENT, SESSION_MS, Bench, transcript

from signalbox.coordinator.group.classic.states import HEARTBEAT_ERRORS, GroupState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.heartbeat import HeartbeatRequest

pytestmark = pytest.mark.spec("D8")


@transcript
async def test_a_member_stays_while_it_sends_heartbeats() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    for _ in range(10):
        await bench.pass_time(SESSION_MS - 500)
        assert bench.heartbeat(leader.member_id, 1) == Error.NONE
    await bench.pass_time(SESSION_MS)
    assert bench.heartbeat(leader.member_id, 1) == Error.UNKNOWN_MEMBER_ID
    assert bench.group().state is GroupState.EMPTY


@transcript
async def test_the_other_members_rebalance_when_the_session_of_one_expires() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b")
    await bench.pass_time(SESSION_MS - 500)
    assert bench.heartbeat(leader.member_id, 1) == Error.NONE
    await bench.pass_time(500)
    assert bench.heartbeat(leader.member_id, 1) == Error.REBALANCE_IN_PROGRESS
    assert bench.heartbeat(follower.member_id, 1) == Error.UNKNOWN_MEMBER_ID


@transcript
async def test_what_is_checked() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    assert bench.heartbeat(leader.member_id, 1, group="") == Error.INVALID_GROUP_ID
    assert bench.heartbeat(leader.member_id, 1, group="other") == Error.UNKNOWN_MEMBER_ID
    assert bench.heartbeat("unknown", 1) == Error.UNKNOWN_MEMBER_ID
    assert bench.heartbeat(leader.member_id, 2) == Error.ILLEGAL_GENERATION


@transcript
async def test_a_heartbeat_is_answered_without_waiting_for_the_loop() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id=leader.member_id)
    reply = bench.coordinator.heartbeat(request, CLIENT)
    assert not hasattr(reply, "__await__")


def test_every_state_has_its_answer() -> None:
    assert set(HEARTBEAT_ERRORS) == set(GroupState)
