"""The state of a new coordinator after a failover."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.coordinator.bench import SESSION_MS, UPDATE, Bench, settle, transcript

from signalbox.common.metrics import MetricName, NullMetrics
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.group.group_shard import register_group_metrics
from signalbox.protocol.error_table import Error


@transcript
async def test_members_go_on_with_their_generation_and_assignment() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b")
    bench.commit({("t", 0): 5}, member_id=leader.member_id, generation=1)
    await settle()
    after = await bench.fail_over(2)
    assert after.heartbeat(leader.member_id, 1) == after.heartbeat(follower.member_id, 1) == Error.NONE
    assert after.sync(follower).response.assignment == b"b"
    assert after.offsets() == {("t", 0): 5}
    commit = after.commit({("t", 0): 6}, member_id=follower.member_id, generation=1)
    await settle()
    assert commit.response.topics[0].partitions[0].error_code == Error.NONE
    again = [after.join(leader.member_id), after.join(follower.member_id)]
    assert {join.response.generation_id for join in again} == {2}


@transcript
async def test_session_timeouts_restart_after_loading() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    await bench.pass_time(SESSION_MS - 500)
    after = await bench.fail_over(2)
    await after.pass_time(SESSION_MS - 500)
    assert after.heartbeat(leader.member_id, 1) == Error.NONE
    await after.pass_time(SESSION_MS)
    assert after.heartbeat(leader.member_id, 1) == Error.UNKNOWN_MEMBER_ID


@transcript
async def test_static_members_keep_their_place() -> None:
    bench = await Bench().start()
    join = bench.join(instance="i1")
    await bench.pass_time(3_000)
    bench.sync(join.response, {join.response.member_id: b"a"}, instance="i1")
    await settle()
    after = await bench.fail_over(2)
    back = after.join(instance="i1")
    await settle()
    assert (back.response.error_code, back.response.generation_id) == (Error.NONE, 1)
    assert after.sync(back.response, instance="i1").response.assignment == b"a"


@transcript
async def test_an_empty_group_keeps_its_type_and_generation() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    bench.leave((leader.member_id, None))
    await settle()
    after = await bench.fail_over(2)
    group = after.group()
    assert (group.state, group.generation_id, group.protocol_type) == (GroupState.EMPTY, 2, "consumer")
    join = after.join(version=3)
    await after.pass_time(3_000)
    assert join.response.generation_id == 3


@transcript
async def test_a_group_that_grew_beyond_the_limit_rebalances() -> None:
    bench = await Bench().start()
    joined = await bench.stable_group(b"a", b"b", b"c")
    bench.settings = GroupSettings(max_size=2)
    after = await bench.fail_over(2)
    assert after.heartbeat(joined[0].member_id, 1) == Error.REBALANCE_IN_PROGRESS
    again = [after.join(one.member_id) for one in joined]
    assert again[2].response.error_code == Error.GROUP_MAX_SIZE_REACHED


@transcript
async def test_waiting_requests_are_rejected_with_not_coordinator_on_unload() -> None:
    bench = await Bench().start()
    joins = [bench.join(version=3, group="syncing"), bench.join(version=3, group="syncing")]
    await bench.pass_time(6_000)
    waiting = [
        bench.join(version=3, group="joining"),
        bench.sync(joins[1].response, group="syncing"),
        bench.sync(joins[0].response, {}, group="syncing"),
    ]
    bench.coordinator.on_resigned(0, 1)
    await settle()
    assert {pending.response.error_code for pending in waiting} == {Error.NOT_COORDINATOR}
    assert bench.heartbeat("m", 1) == Error.NOT_COORDINATOR


@transcript
async def test_a_heartbeat_is_accepted_while_its_group_is_loading() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    bench.coordinator.on_resigned(0, 1)
    bench.log.lead(0, 2)
    bench.coordinator.on_elected(0, 2)
    assert bench.heartbeat(leader.member_id, 1) == Error.NONE
    assert bench.join(leader.member_id).response.error_code == Error.COORDINATOR_LOAD_IN_PROGRESS
    await settle()
    assert bench.heartbeat(leader.member_id, 1) == Error.NONE


@transcript
async def test_tombstones_are_heeded_in_the_order_of_the_log() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    await settle()
    bench.delete_topic("t")
    await settle()
    bench.cache.apply_update_metadata(UPDATE)
    bench.commit({("t", 1): 6})
    await settle()
    assert (await bench.fail_over(2)).offsets() == {("t", 1): 6}


class Scraped(NullMetrics):
    def __init__(self) -> None:
        self.readers: dict[str, Callable[[], float]] = {}

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        assert name[:2] == ("kafka.coordinator.group", "GroupMetadataManager")
        self.readers[name.name] = read


@transcript
async def test_groups_are_counted_by_state_and_offsets_too() -> None:
    bench = await Bench().start()
    scraped = Scraped()
    register_group_metrics(scraped, bench.runtime.active_shards)
    await bench.stable_group(b"a")
    bench.commit({("t", 0): 1, ("t", 1): 2}, group="simple")
    await settle()
    counts = {name: read() for name, read in scraped.readers.items() if read()}
    assert counts == {"NumGroups": 2, "NumOffsets": 2, "NumGroupsStable": 1, "NumGroupsEmpty": 1}
    bench.coordinator.on_resigned(0)
    assert not any(read() for read in scraped.readers.values())
