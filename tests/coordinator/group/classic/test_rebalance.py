from __future__ import annotations

import pytest
from tests.coordinator.bench import Bench, settle, transcript

from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D8")


@transcript
async def test_generations_grow_by_one_per_rebalance() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    for generation in range(2, 6):
        join = bench.join(leader.member_id)
        await settle()
        assert join.response.generation_id == generation
        bench.sync(join.response, {leader.member_id: b"a"})
        await settle()


@transcript
async def test_a_member_whose_join_waits_is_not_out_for_want_of_heartbeats() -> None:
    bench = await Bench(GroupSettings(initial_rebalance_delay_ms=0)).start()
    leader, _ = await bench.stable_group(b"a", b"b", rebalance_ms=300_000, session_ms=30_000)
    waiting = bench.join(leader.member_id, rebalance_ms=300_000, session_ms=6_000)
    await bench.pass_time(29_000)
    assert not waiting.answered
    await bench.pass_time(2_000)
    assert [member.member_id for member in waiting.response.members] == [leader.member_id]
    assert bench.heartbeat(leader.member_id, 2) == Error.NONE


@transcript
async def test_session_timeouts_restart_when_assignments_are_sent() -> None:
    bench = await Bench().start()
    bench.log.held = True
    joins = [bench.join(version=3), bench.join(version=3)]
    await bench.pass_time(6_000)
    leader, follower = (join.response for join in joins)
    bench.sync(leader, {leader.member_id: b"a"})
    bench.sync(follower)
    await bench.pass_time(4_000)
    bench.log.commit_all()
    await settle()
    await bench.pass_time(9_500)
    assert bench.heartbeat(leader.member_id, 1) == bench.heartbeat(follower.member_id, 1) == Error.NONE


@transcript
async def test_an_expired_session_does_not_end_the_initial_wait() -> None:
    """As in Kafka: the next member would need a second rebalance."""
    bench = await Bench(GroupSettings(initial_rebalance_delay_ms=3_000)).start()
    bench.join(session_ms=6_000)  # is given a member id and never comes back
    joins = []
    for _ in range(3):
        joins.append(bench.join(version=3))
        await bench.pass_time(2_500)
    assert not any(join.answered for join in joins), "the session has expired, the wait goes on"
    await bench.pass_time(3_000)
    assert [join.response.generation_id for join in joins] == [1, 1, 1]


@transcript
async def test_without_initial_delay_the_first_join_completes_in_the_next_loop_iteration() -> None:
    bench = await Bench(GroupSettings(initial_rebalance_delay_ms=0)).start()
    join = bench.join(version=3)
    await bench.pass_time(1, step_ms=1)
    assert join.response.generation_id == 1
    assert bench.group().state is GroupState.COMPLETING_REBALANCE
