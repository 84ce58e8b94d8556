"""KIP-211: expiration of offsets and groups, and DeleteGroups."""

from __future__ import annotations

import pytest
from tests.coordinator.bench import CLIENT, Bench, BenchCall, settle, subscription, transcript

from signalbox.coordinator.config_rows import GroupSettings, RuntimeSettings
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_groups import DeleteGroupsRequest

pytestmark = pytest.mark.spec("D8")

RETENTION_MS = 100_000
SETTINGS = GroupSettings(offsets_retention_ms=RETENTION_MS)
HOURLY = RuntimeSettings(maintenance_interval_ms=10_000)


async def expiring_bench() -> Bench:
    return await Bench(SETTINGS, runtime_settings=HOURLY).start()


def delete(bench: Bench, *groups: str) -> BenchCall:
    return BenchCall(bench.coordinator.delete_groups(DeleteGroupsRequest(groups_names=list(groups)), CLIENT))


@transcript
async def test_without_membership_an_offset_lives_from_its_commit() -> None:
    bench = await expiring_bench()
    bench.commit({("t", 0): 5})
    await settle()
    await bench.pass_time(50_000, step_ms=5_000)
    bench.commit({("t", 1): 6})
    await settle()
    await bench.pass_time(50_000, step_ms=5_000)
    assert bench.offsets() == {("t", 1): 6}
    await bench.pass_time(60_000, step_ms=5_000)
    assert bench.offsets() == {}
    assert bench.shard.groups.get("g") is None
    assert bench.logged_groups() == [None]


@transcript
async def test_in_an_empty_group_an_offset_lives_from_the_moment_it_became_empty() -> None:
    bench = await expiring_bench()
    (leader,) = await bench.stable_group(b"a")
    bench.commit({("t", 0): 5}, member_id=leader.member_id, generation=1)
    for _ in range(60):
        await bench.pass_time(5_000, step_ms=5_000)
        assert bench.heartbeat(leader.member_id, 1) == Error.NONE
    bench.leave((leader.member_id, None))
    await settle()
    await bench.pass_time(RETENTION_MS - 10_000, step_ms=5_000)
    assert bench.offsets() == {("t", 0): 5}
    await bench.pass_time(20_000, step_ms=5_000)
    assert bench.offsets() == {}
    assert bench.shard.groups.get("g") is None


@transcript
async def test_in_a_stable_group_only_offsets_of_topics_without_subscribers_expire() -> None:
    bench = await expiring_bench()
    (leader,) = await bench.stable_group(b"a", protocols=(("range", subscription("t")),))
    bench.commit({("t", 0): 5, ("old", 0): 7}, member_id=leader.member_id, generation=1)
    for _ in range(24):
        await bench.pass_time(5_000, step_ms=5_000)
        assert bench.heartbeat(leader.member_id, 1) == Error.NONE
    assert bench.offsets() == {("t", 0): 5}


@transcript
async def test_groups_of_other_types_keep_all_while_they_have_members() -> None:
    bench = await expiring_bench()
    (leader,) = await bench.stable_group(b"a", protocol_type="connect", protocols=(("p", b""),))
    bench.commit({("old", 0): 7}, member_id=leader.member_id, generation=1)
    for _ in range(30):
        await bench.pass_time(5_000, step_ms=5_000)
        bench.heartbeat(leader.member_id, 1)
    assert bench.offsets() == {("old", 0): 7}


@transcript
async def test_an_offset_with_its_own_retention_goes_at_its_own_time() -> None:
    bench = await expiring_bench()
    bench.commit({("t", 0): 5}, retention_ms=15_000, version=4)
    await settle()
    await bench.pass_time(10_000, step_ms=5_000)
    assert bench.offsets() == {("t", 0): 5}
    await bench.pass_time(10_000, step_ms=5_000)
    assert bench.offsets() == {}


@transcript
async def test_a_group_that_no_member_completed_joining_is_removed() -> None:
    bench = await expiring_bench()
    await bench.member()
    assert bench.shard.groups.get("g") is not None
    await bench.pass_time(30_000, step_ms=5_000)
    assert bench.shard.groups.get("g") is None


@transcript
async def test_a_deleted_group_is_gone_with_its_offsets_also_after_a_fail_over() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5, ("t", 1): 6})
    await settle()
    deleted = delete(bench, "g", "other", "g")
    await settle()
    assert [(row.group_id, row.error_code) for row in deleted.response.results] == [
        ("g", Error.NONE),
        ("other", Error.GROUP_ID_NOT_FOUND),
    ]
    assert bench.offsets() == {}
    after = await bench.fail_over(2)
    assert after.offsets() == {}
    assert after.shard.groups.get("g") is None


@transcript
async def test_a_group_with_members_is_not_deleted() -> None:
    bench = await Bench().start()
    await bench.stable_group(b"a")
    assert delete(bench, "g").response.results[0].error_code == Error.NON_EMPTY_GROUP


@transcript
async def test_a_commit_on_its_way_does_not_survive_its_group() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    await settle()
    bench.log.held = True
    bench.commit({("t", 1): 6})
    deleted = delete(bench, "g")
    await settle()
    bench.log.commit_all()
    await settle()
    assert deleted.response.results[0].error_code == Error.NONE
    assert bench.offsets() == {}
    assert bench.shard.groups.get("g") is None


@transcript
async def test_a_member_that_joins_while_a_deletion_is_written_gets_a_new_group() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    await settle()
    bench.log.held = True
    deleted = delete(bench, "g")
    await settle()
    join = bench.join(version=3)
    bench.log.commit_all()
    await settle()
    assert deleted.response.results[0].error_code == Error.NONE
    await bench.pass_time(3_000)
    assert (join.response.error_code, join.response.generation_id) == (Error.NONE, 1)
    assert bench.offsets() == {}


@transcript
async def test_a_deletion_that_cannot_be_written_changes_nothing() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    await settle()
    bench.log.rejection = Error.NOT_ENOUGH_REPLICAS
    deleted = delete(bench, "g")
    await settle()
    assert deleted.response.results[0].error_code == Error.COORDINATOR_NOT_AVAILABLE
    assert bench.offsets() == {("t", 0): 5}
    assert bench.shard.groups.get("g") is not None


@transcript
async def test_a_deletion_whose_commit_comes_late_spares_a_group_that_has_members_again() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    await settle()
    bench.log.held = True
    deleted = delete(bench, "g")
    await bench.pass_time(6_000)
    assert deleted.response.results[0].error_code == Error.COORDINATOR_NOT_AVAILABLE
    await bench.member()
    bench.log.commit_all()
    await settle()
    assert bench.group().pending_join
    assert bench.offsets() == {}
