"""The coordinator's API over the wire: every version of every API, encoded requests and responses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.broker.handler_requests import update
from tests.coordinator.bench import Bench, BenchCall, BenchOfSmallSlices, settle, subscription, transcript

from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.group.classic.member import ClientContext
from signalbox.coordinator.group_coordinator import GroupCoordinator, java_string_hash, partition_for
from signalbox.metadata.delta import FULL
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error

NEW_ID, NEWER_ID = b"another id".ljust(16), b"a third id".ljust(16)
FIELDS: dict[ApiKey, dict[str, Any]] = {
    ApiKey.JOIN_GROUP: {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [("range", subscription("t"))],
    },
    ApiKey.SYNC_GROUP: {"group_id": "g", "generation_id": 1, "member_id": "m"},
    ApiKey.HEARTBEAT: {"group_id": "g", "generation_id": 1, "member_id": "m"},
    ApiKey.LEAVE_GROUP: {"group_id": "g"},
    ApiKey.OFFSET_COMMIT: {"group_id": "g"},
    ApiKey.OFFSET_FETCH: {},
    ApiKey.DESCRIBE_GROUPS: {"groups": ["g", "h"]},
    ApiKey.LIST_GROUPS: {},
    ApiKey.DELETE_GROUPS: {"groups_names": ["g"]},
    ApiKey.OFFSET_DELETE: {"group_id": "g"},
}
VERSIONS = [
    (api, version) for api in FIELDS for version in range(API_TABLE[api].min_version, API_TABLE[api].max_version + 1)
]


def errors_of(commit: BenchCall) -> list[int]:
    return [partition.error_code for topic in commit.response.topics for partition in topic.partitions]


def method_of(coordinator: GroupCoordinator, api: ApiKey) -> Any:
    return getattr(coordinator, api.name.lower())


def request_of(api: ApiKey, version: int) -> Any:
    row = API_TABLE[api]
    fields = dict(FIELDS[api])
    if api is ApiKey.JOIN_GROUP:
        protocol = row.request.JoinGroupRequestProtocol
        fields["protocols"] = [protocol(name=name, metadata=data) for name, data in fields["protocols"]]
    if api is ApiKey.LEAVE_GROUP:
        one = row.request.MemberIdentity(member_id="m")
        fields |= {"members": [one]} if version >= 3 else {"member_id": "m"}
    if api is ApiKey.OFFSET_FETCH:
        one = row.request.OffsetFetchRequestGroup(group_id="g")
        fields |= {"groups": [one]} if version >= 8 else {"group_id": "g"}
    return row.request.decode(row.request(**fields).encode(version), version)


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda value: getattr(value, "name", value))
@transcript
async def test_every_version_is_answered_in_words_that_version_has(api: ApiKey, version: int) -> None:
    bench = await Bench().start()
    client = ClientContext("c", "/127.0.0.1", version)
    pending = BenchCall(method_of(bench.coordinator, api)(request_of(api, version), client))
    await bench.pass_time(6_000)
    assert API_TABLE[api].response.decode(pending.response.encode(version), version) is not None


@pytest.mark.parametrize(("api", "version"), VERSIONS, ids=lambda value: getattr(value, "name", value))
@transcript
async def test_so_is_every_rejection(api: ApiKey, version: int) -> None:
    bench = Bench()
    client = ClientContext("c", "/127.0.0.1", version)
    pending = BenchCall(method_of(bench.coordinator, api)(request_of(api, version), client))
    await settle()
    assert pending.answered
    assert API_TABLE[api].response.decode(pending.response.encode(version), version) is not None


@transcript
async def test_full_responses_can_be_encoded_at_every_version() -> None:
    """Static members, offsets with metadata and leader epochs: newer versions' fields must not break older versions."""
    bench = await Bench().start()
    joins = [bench.join(instance="i1"), bench.join(version=3)]
    await bench.pass_time(9_000)
    leader, follower = (join.response for join in joins)
    syncs = [
        bench.sync(leader, {leader.member_id: b"a", follower.member_id: b"b"}, instance="i1"),
        bench.sync(follower),
    ]
    bench.commit({("t", 0): 5}, group="simple", metadata="m")
    await settle()
    everything = [(ApiKey.JOIN_GROUP, leader), (ApiKey.JOIN_GROUP, follower)]
    everything += [(ApiKey.SYNC_GROUP, sync.response) for sync in syncs]
    for api, response in everything:
        for version in range(API_TABLE[api].min_version, API_TABLE[api].max_version + 1):
            assert response.encode(version)
    for api, fields in (
        (ApiKey.DESCRIBE_GROUPS, {"groups": ["g", "unknown"]}),
        (ApiKey.LIST_GROUPS, {}),
        (ApiKey.OFFSET_FETCH, {"group_id": "simple", "topics": None}),
    ):
        for version in range(max(API_TABLE[api].min_version, 2), min(API_TABLE[api].max_version, 7) + 1):
            request = API_TABLE[api].request(**fields)
            client = ClientContext("c", "/127.0.0.1", version)
            assert BenchCall(method_of(bench.coordinator, api)(request, client)).response.encode(version)


@transcript
async def test_groups_are_spread_over_the_partitions_there_are() -> None:
    bench = await Bench().start()
    assert bench.coordinator.partition_for("hello") == 0
    bench.cache.apply_update_metadata(update({1: ["CLIENT"]}, {"t": {0: (1, [1])}}))
    assert bench.coordinator.partition_for("hello") == 0
    offsets = {"__consumer_offsets": {index: (1, [1]) for index in range(50)}}
    bench.cache.apply_update_metadata(update({1: ["CLIENT"]}, offsets))
    assert bench.coordinator.partition_for("hello") == 99162322 % 50
    assert bench.join(group="hello").response.error_code == Error.NOT_COORDINATOR


@transcript
async def test_a_topic_with_a_corrupt_entry_is_neither_empty_nor_deleted() -> None:
    """Groups keep their partitions and their committed offsets."""
    bench = await Bench().start()
    bench.commit({("t", 0): 5})
    await settle()
    complete = {"__consumer_offsets": {0: (1, [1])}, "t": {0: (1, [1])}}
    named: dict[str, dict[int, tuple[int, list[int]]]] = {"__consumer_offsets": {}, "t": {}}
    for topics in (named, complete, named):
        message = update({1: ["CLIENT"]}, topics)
        message.type = FULL
        bench.cache.apply_update_metadata(message)
    await settle()
    assert (bench.coordinator.partition_for("g"), bench.offsets()) == (0, {("t", 0): 5})


@transcript
async def test_offsets_of_a_topic_that_is_recreated_in_one_update_are_deleted() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5, ("u", 0): 6})
    await settle()
    bench.create_topic("t", NEW_ID)
    await settle()
    assert bench.offsets() == {("u", 0): 6}


@transcript
async def test_offsets_of_a_topic_that_is_deleted_during_the_load_are_deleted_after_it() -> None:
    bench = await Bench().start()
    bench.commit({("t", 0): 5, ("u", 0): 6})
    await settle()
    bench.coordinator.on_resigned(0, 1)
    bench.log.lead(0, 2)
    bench.coordinator.on_elected(0, 2)
    bench.delete_topic("t")
    await settle()
    assert bench.offsets() == {("u", 0): 6}


async def until_loaded(bench: Bench, partition: int) -> None:
    """Runs the event loop until the partition has just become active."""
    for _ in range(10_000):
        if partition in (shard.partition for shard in bench.runtime.active_shards()):
            return
        await asyncio.sleep(0)
    raise AssertionError("the partition is not loaded")


def begin_load(bench: Bench, partition: int, leader_epoch: int) -> None:
    bench.log.lead(partition, leader_epoch)
    bench.coordinator.on_elected(partition, leader_epoch)


@transcript
async def test_the_end_of_a_load_deletes_no_offset_of_a_recreated_topic_in_another_partition() -> None:
    """The topic is deleted and created again while partition 0 loads; group "a" is in partition 1, "b" in 0."""
    bench = BenchOfSmallSlices()
    offsets = {"__consumer_offsets": {0: (1, [1]), 1: (1, [1])}}
    bench.cache.apply_update_metadata(update({1: ["CLIENT"]}, offsets))
    for partition in (0, 1):
        begin_load(bench, partition, 1)
        await until_loaded(bench, partition)
    bench.commit({("t", number): 5 for number in range(100)}, group="b")
    bench.commit({("t", 0): 5, ("t", 1): 5, ("u", 0): 6}, group="a")
    await settle()
    bench.coordinator.on_resigned(0, 1)
    begin_load(bench, 0, 2)
    bench.delete_topic("t")
    await settle()
    assert bench.offsets("a") == {("u", 0): 6}
    bench.create_topic("t", NEW_ID)
    commit = bench.commit({("t", 0): 9}, group="a")
    await settle()
    assert errors_of(commit) == [Error.NONE]
    assert 0 not in [shard.partition for shard in bench.runtime.active_shards()], "loaded too early for this test"
    await until_loaded(bench, 0)
    await settle()
    assert (bench.offsets("a"), bench.offsets("b")) == ({("t", 0): 9, ("u", 0): 6}, {})


@transcript
async def test_a_commit_between_the_load_and_the_deletion_of_old_offsets_is_kept() -> None:
    bench = await BenchOfSmallSlices().start()
    bench.commit({("t", 0): 5, ("t", 1): 5, ("u", 0): 6})
    bench.commit({("t", 1): 5}, group="h")
    await settle()
    bench.coordinator.on_resigned(0, 1)
    begin_load(bench, 0, 2)
    bench.delete_topic("t")
    bench.create_topic("t", NEW_ID)
    await until_loaded(bench, 0)
    commit = bench.commit({("t", 0): 9})
    for _ in range(100):
        await asyncio.sleep(0)
    assert errors_of(commit) == [Error.NONE]
    assert (bench.offsets(), bench.offsets("h")) == ({("t", 0): 9, ("u", 0): 6}, {})


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 5, 8])
@transcript
async def test_a_commit_for_a_recreated_topic_is_kept_while_old_offsets_are_deleted(rounds: int) -> None:
    """In whatever round the commit comes: before the deletion begins, while it goes from group to group, after it."""
    bench = await BenchOfSmallSlices().start()
    groups = [f"g{number}" for number in range(4)]
    for group in groups:
        bench.commit({("t", 0): 5, ("t", 1): 5, ("u", 0): 6}, group=group)
    await settle()
    bench.delete_topic("t")
    bench.create_topic("t", NEW_ID)
    for _ in range(rounds):
        await asyncio.sleep(0)
    commits = [bench.commit({("t", 0): 9}, group=group) for group in groups]
    for _ in range(100):
        await asyncio.sleep(0)
    assert [errors_of(commit) for commit in commits] == [[Error.NONE]] * 4
    assert [bench.offsets(group) for group in groups] == [{("t", 0): 9, ("u", 0): 6}] * 4
    successor = await bench.fail_over(2)
    assert [successor.offsets(group) for group in groups] == [{("t", 0): 9, ("u", 0): 6}] * 4


@transcript
async def test_a_commit_before_the_deletion_is_deleted_and_one_after_it_is_kept_also_in_flight() -> None:
    bench = await Bench().start()
    bench.log.held = True
    bench.commit({("t", 0): 5, ("t", 1): 5})
    bench.delete_topic("t")
    bench.create_topic("t", NEW_ID)
    bench.commit({("t", 0): 9})
    bench.delete_topic("t")
    bench.create_topic("t", NEWER_ID)
    bench.commit({("t", 1): 10})
    await settle()
    bench.log.commit_all()
    await settle()
    assert bench.offsets() == {("t", 1): 10}


@transcript
async def test_a_commit_for_a_recreated_topic_is_not_too_large_because_of_old_offsets() -> None:
    bench = await Bench(runtime_settings=RuntimeSettings(max_batch_bytes=500)).start()
    for number in range(50):
        bench.commit({("t", number): 5})
    await settle()
    bench.delete_topic("t")
    bench.create_topic("t", NEW_ID)
    commit = bench.commit({("t", 0): 9})
    await settle()
    assert (errors_of(commit), bench.offsets()) == ([Error.NONE], {("t", 0): 9})


@transcript
async def test_a_commit_for_a_topic_that_was_deleted_after_the_handler_looked_is_rejected() -> None:
    bench = await Bench().start()
    bench.delete_topic("t")
    commit = bench.commit({("t", 0): 5, ("u", 0): 6, ("u", 100): 7})
    await settle()
    errors = {
        (topic.name, partition.partition_index): partition.error_code
        for topic in commit.response.topics
        for partition in topic.partitions
    }
    unknown = Error.UNKNOWN_TOPIC_OR_PARTITION
    assert errors == {("t", 0): unknown, ("u", 0): Error.NONE, ("u", 100): unknown}
    assert bench.offsets() == {("u", 0): 6}


@transcript
async def test_a_hundred_members() -> None:
    """All members of a large group join, sync, commit and leave; the log contains three batches."""
    bench = await Bench().start()
    joins = {}
    for number in range(100):
        member_id = await bench.member(client=f"c{number}")
        joins[member_id] = bench.join(member_id)
    await bench.pass_time(9_000)
    joined = {member_id: pending.response for member_id, pending in joins.items()}
    leader_id = next(iter(joined.values())).leader
    assert len(joined[leader_id].members) == 100
    syncs = {member_id: bench.sync(answer) for member_id, answer in joined.items() if member_id != leader_id}
    given = {member_id: member_id.encode() for member_id in joined}
    syncs[leader_id] = bench.sync(joined[leader_id], given)
    await settle()
    assert all(sync.response.assignment == member_id.encode() for member_id, sync in syncs.items())
    commits = [
        bench.commit({("t", number): number}, member_id=member_id, generation=1)
        for number, member_id in enumerate(joined)
    ]
    await settle()
    assert {commit.response.topics[0].partitions[0].error_code for commit in commits} == {Error.NONE}
    assert bench.offsets() == {("t", number): number for number in range(100)}
    left = bench.leave(*((member_id, None) for member_id in joined))
    await settle()
    assert {row.error_code for row in left.response.members} == {Error.NONE}
    assert len(bench.log.batches[0]) == 3, "assignment, commits, empty group: one batch each"


@transcript
async def test_from_version_5_on_a_sync_names_its_protocol() -> None:
    bench = await Bench().start()
    request = request_of(ApiKey.SYNC_GROUP, 5)
    client = ClientContext("c", "/h", 5)
    unnamed = BenchCall(bench.coordinator.sync_group(request, client)).response
    assert unnamed.error_code == Error.INCONSISTENT_GROUP_PROTOCOL
    request.protocol_type, request.protocol_name = "consumer", "range"
    assert BenchCall(bench.coordinator.sync_group(request, client)).response.error_code == Error.UNKNOWN_MEMBER_ID


@transcript
async def test_a_join_that_fails_has_a_null_protocol_name_where_the_version_can_say_so() -> None:
    bench = await Bench().start()
    for version, name in ((6, ""), (7, None), (9, None)):
        request = request_of(ApiKey.JOIN_GROUP, version)
        request.member_id = "unknown"
        response = BenchCall(bench.coordinator.join_group(request, ClientContext("c", "/h", version))).response
        assert (response.error_code, response.protocol_name) == (Error.UNKNOWN_MEMBER_ID, name)
        assert response.encode(version)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("Hello World", -862545276),
        ("polygenelubricants", -2147483648),
        ("ä", 228),
        ("\U0001f600", 1772899),
    ],
)
def test_hash_codes_as_java_gives_them(text: str, value: int) -> None:
    assert java_string_hash(text) == value


def test_the_partition_is_the_absolute_value_not_a_mask() -> None:
    assert partition_for("Hello World", 50) == 862545276 % 50
    assert partition_for("hello", 50) == 99162322 % 50


def test_the_one_number_without_an_absolute_value_goes_to_partition_0() -> None:
    assert partition_for("polygenelubricants", 50) == 0
