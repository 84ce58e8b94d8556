from __future__ import annotations

import pytest
from tests.coordinator.bench import CLIENT, Bench, BenchCall, settle, transcript

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest

pytestmark = pytest.mark.spec("D8")


def errors(pending: BenchCall) -> list[int]:
    return [partition.error_code for topic in pending.response.topics for partition in topic.partitions]


@transcript
async def test_a_client_without_membership_commits_into_a_group_that_comes_into_being() -> None:
    bench = await Bench().start()
    commit = bench.commit({("t", 0): 5, ("t", 1): 6, ("u", 0): 7})
    assert not commit.answered
    await settle()
    assert errors(commit) == [Error.NONE] * 3
    assert bench.offsets() == {("t", 0): 5, ("t", 1): 6, ("u", 0): 7}


@transcript
async def test_a_member_commits_with_its_generation() -> None:
    bench = await Bench().start()
    (leader,) = await bench.stable_group(b"a")
    commit = bench.commit({("t", 0): 5}, member_id=leader.member_id, generation=1)
    await settle()
    assert errors(commit) == [Error.NONE]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"generation": -1}, Error.UNKNOWN_MEMBER_ID),
        ({"generation": 1}, Error.UNKNOWN_MEMBER_ID),
        ({"generation": 1, "member_id": "unknown"}, Error.UNKNOWN_MEMBER_ID),
        ({"generation": 2, "member_id": "client-1"}, Error.ILLEGAL_GENERATION),
        ({"generation": -1, "member_id": "client-1"}, Error.ILLEGAL_GENERATION),
        ({"generation": 1, "member_id": "client-1", "instance": "i1"}, Error.UNKNOWN_MEMBER_ID),
        ({"group": "other", "generation": 1, "version": 8}, Error.ILLEGAL_GENERATION),
        ({"group": "other", "generation": 1, "version": 9}, Error.GROUP_ID_NOT_FOUND),
    ],
)
@transcript
async def test_commits_that_the_group_rejects(fields: dict[str, object], error: Error) -> None:
    bench = await Bench().start()
    await bench.stable_group(b"a")
    commit = bench.commit({("t", 0): 5, ("t", 1): 6}, **fields)
    await settle()
    assert errors(commit) == [error, error]
    assert bench.offsets() == {}


@transcript
async def test_no_commit_between_join_and_assignment() -> None:
    bench = await Bench().start()
    join = bench.join(version=3)
    await bench.pass_time(3_000)
    commit = bench.commit({("t", 0): 5}, member_id=join.response.member_id, generation=1)
    assert errors(commit) == [Error.REBALANCE_IN_PROGRESS]


@transcript
async def test_during_a_rebalance_members_may_still_commit_and_live_by_it() -> None:
    bench = await Bench().start()
    leader, follower = await bench.stable_group(b"a", b"b")
    bench.join(leader.member_id)
    for _ in range(3):
        await bench.pass_time(9_500)
        commit = bench.commit({("t", 0): 5}, member_id=follower.member_id, generation=1)
        await settle()
        assert errors(commit) == [Error.NONE]


@pytest.mark.parametrize("length", [4, 5])
@transcript
async def test_metadata_that_is_too_long_is_rejected_alone(length: int) -> None:
    bench = await Bench(GroupSettings(offset_metadata_max_size=4)).start()
    commit = bench.commit({("t", 0): 5}, metadata="x" * length)
    await settle()
    assert errors(commit) == [Error.NONE if length == 4 else Error.OFFSET_METADATA_TOO_LARGE]
    assert bool(bench.offsets()) == (length == 4)


@transcript
async def test_a_commit_with_its_own_retention_is_written_with_its_expiry() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5}, retention_ms=1_000, version=4)
    await settle()
    (stored,) = bench.logged_offsets()
    assert stored.expire_timestamp == bench.clock.now_ms() + 1_000
    assert stored.commit_timestamp == bench.clock.now_ms()


@transcript
async def test_the_longest_retention_ends_with_the_last_timestamp() -> None:
    bench = await Bench().start()
    commit = bench.commit({("t", 0): 5}, retention_ms=2**63 - 1, version=4)
    await settle()
    assert errors(commit) == [Error.NONE]
    (stored,) = bench.logged_offsets()
    assert stored.expire_timestamp == 2**63 - 1


@transcript
async def test_commits_of_one_loop_iteration_share_a_batch() -> None:
    bench = await Bench().start()
    commits = [bench.commit({("t", partition): 1}, group=f"g{partition}") for partition in range(20)]
    await settle()
    assert {error for commit in commits for error in errors(commit)} == {Error.NONE}
    assert len(bench.log.batches[0]) == 1


@transcript
async def test_readers_see_a_commit_only_when_the_log_has_committed_it() -> None:
    bench = await Bench().start()
    bench.log.held = True
    commit = bench.commit({("t", 0): 5})
    await settle()
    assert not commit.answered
    assert bench.offsets() == {}
    stable = bench.fetch_all(require_stable=True)
    await settle()
    assert not stable.answered
    bench.log.commit_all()
    await settle()
    assert errors(commit) == [Error.NONE]
    assert bench.offsets() == {("t", 0): 5}
    assert stable.response.groups[0].topics[0].partitions[0].committed_offset == 5


@pytest.mark.parametrize(
    ("rejection", "client_error"),
    [
        (Error.NOT_ENOUGH_REPLICAS, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.UNKNOWN_TOPIC_OR_PARTITION, Error.COORDINATOR_NOT_AVAILABLE),
        (Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_COORDINATOR),
        (Error.KAFKA_STORAGE_ERROR, Error.NOT_COORDINATOR),
        (Error.MESSAGE_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
        (Error.RECORD_LIST_TOO_LARGE, Error.UNKNOWN_SERVER_ERROR),
    ],
)
@transcript
async def test_a_log_that_rejects(rejection: Error, client_error: Error) -> None:
    bench = await Bench().start()
    bench.log.rejection = rejection
    commit = bench.commit({("t", 0): 5})
    await settle()
    assert errors(commit) == [client_error]
    assert bench.offsets() == {}


@transcript
async def test_a_commit_that_is_not_confirmed_in_time_fails_but_counts_when_it_is() -> None:
    bench = await Bench().start()
    bench.log.held = True
    commit = bench.commit({("t", 0): 5})
    await settle()
    await bench.pass_time(5_000)
    assert errors(commit) == [Error.COORDINATOR_NOT_AVAILABLE]
    assert bench.offsets() == {}
    bench.log.commit_all()
    await settle()
    assert bench.offsets() == {("t", 0): 5}


@pytest.mark.parametrize("late", [Error.REQUEST_TIMED_OUT, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND])
@transcript
async def test_a_batch_in_the_log_is_replayed_although_the_client_gets_an_error(late: Error) -> None:
    bench = await Bench().start()
    bench.log.held = True
    commit = bench.commit({("t", 0): 5})
    await settle()
    bench.log.fail_all(KafkaError(late))
    await settle()
    assert errors(commit) == [Error.COORDINATOR_NOT_AVAILABLE]
    assert bench.offsets() == {("t", 0): 5}


@pytest.mark.parametrize("is_transactional", [False, True])
@transcript
async def test_a_commit_that_timed_out_is_deleted_with_its_group(is_transactional: bool) -> None:
    """Its record comes after the response, but before the deletion in the log: nothing of it may come back."""
    bench = await Bench().start()
    bench.commit({("t", 1): 1})
    await settle()
    bench.log.held = True
    late = bench.txn_commit({("t", 0): 5}) if is_transactional else bench.commit({("t", 0): 5})
    await settle()
    await bench.pass_time(5_000)
    assert errors(late) == [Error.COORDINATOR_NOT_AVAILABLE]
    bench.runtime.write(0, lambda shard: shard.expiry.delete("g"))
    await settle()
    bench.log.commit_all()
    bench.log.held = False
    await settle()
    await bench.end_transaction(True)
    assert bench.offsets() == {}
    assert len(bench.shard.groups) == 0
    successor = await bench.fail_over(2)
    assert (successor.offsets(), len(successor.shard.groups)) == ({}, 0)


@pytest.mark.parametrize("error", [Error.NONE, Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, Error.KAFKA_STORAGE_ERROR])
@transcript
async def test_a_commit_is_coming_until_the_result_of_the_log_is_known(error: Error) -> None:
    bench = await Bench().start()
    bench.log.held = True
    bench.commit({("t", 0): 5})
    await settle()
    await bench.pass_time(5_000)
    assert bench.shard.offsets.is_coming("g", TopicPartition("t", 0))
    if error is Error.NONE:
        bench.log.commit_all()
    else:
        bench.log.fail_all(KafkaError(error))
    await settle()
    assert not bench.shard.offsets.is_coming("g", TopicPartition("t", 0))


def commit_by_id(bench: Bench, topic_id: bytes, partition: int = 3) -> BenchCall:
    """A commit of version 10 for topic t, whose name the handler has filled in."""
    row = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=partition, committed_offset=9)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="t", topic_id=topic_id, partitions=[row])
    request = OffsetCommitRequest(group_id="g", topics=[topic])
    return BenchCall(bench.coordinator.offset_commit(request, CLIENT._replace(api_version=10)))


@transcript
async def test_an_id_whose_topic_was_deleted_after_the_handler_looked_is_unknown_also_if_the_name_exists() -> None:
    bench = await Bench().start()
    topic_id = bench.cache.image.topic_id("t")
    assert errors(commit_by_id(bench, topic_id, partition=500)) == [Error.UNKNOWN_TOPIC_OR_PARTITION]
    bench.delete_topic("t")
    assert errors(commit_by_id(bench, topic_id)) == [Error.UNKNOWN_TOPIC_ID]
    bench.create_topic("t", b"another id".ljust(16))
    commit = commit_by_id(bench, topic_id, partition=0)
    await settle()
    assert errors(commit) == [Error.UNKNOWN_TOPIC_ID]
    assert bench.offsets() == {}


@transcript
async def test_a_partition_that_does_not_exist_is_unknown_whatever_the_coordinator_says_of_the_others() -> None:
    bench = await Bench().start()
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    commit = bench.commit({("t", 0): 5, ("t", 500): 6, ("nope", 0): 7}, generation=1, version=9)
    assert errors(commit) == [Error.GROUP_ID_NOT_FOUND, unknown, unknown]
    bench.coordinator.on_resigned(0)
    assert errors(bench.commit({("t", 0): 5, ("t", 500): 6})) == [Error.NOT_COORDINATOR, unknown]


@transcript
async def test_topic_ids_come_back_as_they_came() -> None:
    bench = await Bench().start()
    topic_id = bench.cache.image.topic_id("t")
    commit = commit_by_id(bench, topic_id)
    await settle()
    assert [(answer.name, answer.topic_id) for answer in commit.response.topics] == [("t", topic_id)]
    assert commit.response.encode(10)
