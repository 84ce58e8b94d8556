"""Replay turns records into store operations and the next context; loading the store gives an equal context."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import pytest

from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.controller import records as rec
from signalbox.controller.context import ControllerContext, ReplicaOfTopic
from signalbox.controller.records import Record
from signalbox.controller.replay import _REPLAY, replay
from signalbox.controller.store.loading import load_context
from signalbox.metadata.entries.acl_entries import ACL_FOLDERS, decode_acls, encode_acls
from signalbox.metadata.entries.delegation_token import TOKEN_FOLDERS
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.entries.producer_id_block import ProducerIdBlock
from signalbox.metadata.entries.topic_assignment import TopicAssignment
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, VersionConflict, Write
from signalbox.security.acl import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.delegation_token import DelegationToken
from signalbox.security.principal import KafkaPrincipal
from tests.controller.contexts import live, make_context, topic_id, tp

FIRST = PartitionState(1, 0, (1, 2), 5, 0)
SECOND = PartitionState(2, 1, (2,), 5, 1)
T_CREATED = rec.TopicCreated("t", TopicAssignment(topic_id("t"), {0: (1, 2), 1: (2,)}), {"retention.ms": "1"})
CREATION: list[Record] = [T_CREATED, rec.PartitionCreated(tp(0), FIRST)]


async def stored(store: MemoryMetadataStore, *batches: Sequence[Record]) -> ControllerContext:
    """Replays batches of records into a store; returns the expected context."""
    await create_roots(store)
    await create_roots(store, (*ACL_FOLDERS, *TOKEN_FOLDERS))
    context = make_context()
    for batch in batches:
        context, operations = replay(context, batch)
        await store.commit(operations)
    return context


def check(*batches: Sequence[Record]) -> dict[str, str]:
    """Stores batches, loads the store, compares the contexts; returns the store's data by path."""

    async def run() -> dict[str, str]:
        store = MemoryMetadataStore(SharedEntries())
        expected = await stored(store, *batches)
        loaded = await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))
        assert loaded.topics == expected.topics
        assert loaded.topic_names == expected.topic_names
        assert loaded.collision_names == expected.collision_names
        assert loaded.configs == expected.configs
        assert loaded.acls == expected.acls
        assert loaded.tokens == expected.tokens
        assert loaded.deleting.keys() == expected.deleting.keys()
        assert loaded.producer_id_block == expected.producer_id_block
        assert loaded.producer_id_version == expected.producer_id_version
        return {path: (entry.data or b"").decode() for path, entry in (await store.read_tree("/")).items()}

    return asyncio.run(run())


def test_a_topic() -> None:
    found = check(CREATION)
    assert json.loads(found["/config/topics/t"])["config"] == {"retention.ms": "1"}
    assert json.loads(found["/brokers/topics/t"])["partitions"] == {"0": [1, 2], "1": [2]}
    assert json.loads(found["/brokers/topics/t/partitions/0/state"])["leader"] == 1
    assert "/brokers/topics/t/partitions/1" not in found
    assert json.loads(found["/config/changes/config_change_0000000000"])["entity_path"] == "topics/t"


def test_states_in_the_same_and_in_later_batches() -> None:
    third = PartitionState(2, 2, (2, 1), 5, 2)
    changes = [rec.PartitionStateChanged(tp(0), SECOND), rec.PartitionStateChanged(tp(0), third)]
    one = check([*CREATION, *changes])
    two = check(CREATION, changes[:1], changes[1:])
    path = "/brokers/topics/t/partitions/0/state"
    assert json.loads(one[path])["leader_epoch"] == json.loads(two[path])["leader_epoch"] == 2


def test_more_partitions() -> None:
    grown = TopicAssignment(topic_id("t"), {0: (1, 2), 1: (2,), 2: (1,)})
    late = PartitionState(1, 0, (1,), 5, 0)
    found = check(CREATION, [rec.TopicAssignmentChanged("t", grown), rec.PartitionCreated(tp(2), late)])
    assert json.loads(found["/brokers/topics/t"])["partitions"]["2"] == [1]
    assert "/brokers/topics/t/partitions/2/state" in found


def test_a_deleted_topic_leaves_nothing() -> None:
    empty = check()
    found = check(CREATION, [rec.TopicDeletionStarted("t")], [rec.TopicDeleted("t")])
    left = {path for path in found.keys() - empty.keys() if not path.startswith("/config/changes/")}
    assert left == set()
    marked = check(CREATION, [rec.TopicDeletionStarted("t")])
    assert "/admin/delete_topics/t" in marked
    unmarked = check(CREATION, [rec.TopicDeletionStarted("t")], [rec.TopicDeletionRejected("t")])
    assert "/admin/delete_topics/t" not in unmarked


def test_a_topic_can_be_made_again() -> None:
    found = check(CREATION, [rec.TopicDeletionStarted("t")], [rec.TopicDeleted("t"), *CREATION])
    assert "/brokers/topics/t/partitions/0/state" in found


def test_configs() -> None:
    found = check(
        CREATION,
        [rec.ConfigsSet("topics/t", {}), rec.ConfigsSet("brokers/1", {"a": "1"})],
        [rec.ConfigsSet("brokers/1", {"a": "2"}), rec.ConfigsSet("brokers/<default>", {"b": "3"})],
    )
    assert json.loads(found["/config/topics/t"])["config"] == {}
    assert json.loads(found["/config/brokers/1"])["config"] == {"a": "2"}
    assert len([path for path in found if path.startswith("/config/changes/")]) == 5


def test_users_without_configs_are_forgotten() -> None:
    user = [rec.ConfigsSet("users/u", {"a": "1"}), rec.ConfigsSet("users/u", {"a": "2"})]
    found = check(user, [rec.ConfigsSet("users/u", {})])
    assert "/config/users/u" not in found
    assert len([path for path in found if path.startswith("/config/changes/config")]) == 3
    assert json.loads(check(user, [rec.ConfigsSet("users/u", {}), user[0]])["/config/users/u"])["config"] == {"a": "1"}


def test_a_user_with_clients_keeps_its_entry() -> None:
    """Another program stores quotas of a user's clients below the user."""

    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await stored(store)
        await store.commit([Create("/config/users/u"), Create("/config/users/u/clients")])
        context = await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))
        for configs in ({"a": "1"}, {}):
            context, operations = replay(context, [rec.ConfigsSet("users/u", configs)])
            await store.commit(operations)
        entry = await store.read("/config/users/u")
        assert entry is not None
        assert json.loads(entry.data or b"")["config"] == {}
        assert (await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))).configs == context.configs

    asyncio.run(run())


@pytest.mark.spec("M2")
def test_acls() -> None:
    topic = ResourcePattern(ResourceType.TOPIC, "t")
    prefix = ResourcePattern(ResourceType.GROUP, "g-", PatternType.PREFIXED)
    read = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
    write = AccessControlEntry("User:a", "*", AclOperation.WRITE, AclPermission.ALLOW)
    first = [rec.AclsSet(topic, (read,)), rec.AclsSet(topic, (read, write)), rec.AclsSet(prefix, (read,))]
    found = check(first, [rec.AclsSet(topic, (write,)), rec.AclsSet(prefix, ())])
    assert decode_acls("", found["/kafka-acl/Topic/t"].encode()) == (write,)
    assert "/kafka-acl-extended/prefixed/Group/g-" not in found
    assert found["/kafka-acl-changes/acl_changes_0000000002"] == "TOPIC:t"
    assert json.loads(found["/kafka-acl-extended-changes/acl_changes_0000000001"])["name"] == "g-"
    assert "/kafka-acl/Topic/t" not in check(first, [rec.AclsSet(topic, ())])
    assert "/kafka-acl/Topic/t" in check(first, [rec.AclsSet(topic, ()), rec.AclsSet(topic, (read,))])


@pytest.mark.spec("F1", "M2")
def test_delegation_tokens() -> None:
    alice = KafkaPrincipal("User", "alice")
    token = DelegationToken("t", alice, alice, (), issue_ms=1, expiry_ms=2, max_ms=9)
    renewed = replace(token, expiry_ms=5)
    found = check([rec.TokenSet(token)], [rec.TokenSet(renewed)])
    assert json.loads(found["/delegation_token/tokens/t"])["expiryTimestamp"] == 5
    changes = "/delegation_token/token_changes/token_change_000000000"
    assert [found[f"{changes}{number}"] for number in (0, 1)] == ["t", "t"]
    gone = check([rec.TokenSet(token)], [rec.TokenRemoved("t")])
    assert "/delegation_token/tokens/t" not in gone
    assert gone[f"{changes}1"] == "t"
    assert "/delegation_token/tokens/t" in check([rec.TokenSet(token), rec.TokenRemoved("t"), rec.TokenSet(token)])


@pytest.mark.spec("M3")
def test_acls_that_another_program_changed_are_not_overwritten() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        topic = ResourcePattern(ResourceType.TOPIC, "t")
        read = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
        context = await stored(store, [rec.AclsSet(topic, (read,))])
        await store.commit([Write("/kafka-acl/Topic/t", encode_acls([]))])
        for entries in ((), (read, read)):
            with pytest.raises(VersionConflict):
                await store.commit(replay(context, [rec.AclsSet(topic, entries)])[1])

    asyncio.run(run())


def test_producer_ids() -> None:
    blocks = [rec.ProducerIdsAllocated(ProducerIdBlock(1, start, start + 999)) for start in (0, 1_000, 2_000)]
    found = check(blocks[:2], blocks[2:])
    assert json.loads(found["/latest_producer_id_block"])["block_start"] == "2000"


def test_what_another_program_left_half_made() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        for topic in ("bare", "half"):
            await store.commit([Create(f"/brokers/topics/{topic}", T_CREATED.assignment.encode())])
        await store.commit([Create("/brokers/topics/half/partitions"), Create("/brokers/topics/half/partitions/0")])
        context = await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))
        records = [rec.PartitionCreated(tp(0, topic), FIRST) for topic in ("bare", "half")]
        after, operations = replay(context, records)
        await store.commit(operations)
        assert await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop())) == after
        last, operations = replay(after, [rec.TopicDeletionStarted("half"), rec.TopicDeleted("half")])
        await store.commit(operations)
        assert set(last.topics) == {"bare"}

    asyncio.run(run())


def test_a_state_that_another_writer_changed_is_not_overwritten() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        context = await stored(store, CREATION)
        _, operations = replay(context, [rec.PartitionStateChanged(tp(0), SECOND)])
        await store.commit(operations)
        with pytest.raises(VersionConflict):
            await store.commit(operations)

    asyncio.run(run())


def test_records_of_processes_are_not_stored() -> None:
    context = make_context(1, 2, topics={"t": {0: "1*"}}, deleting={"t": frozenset({ReplicaOfTopic(0, 1)})})
    new_broker = live(3)[3]
    after, operations = replay(
        context,
        [
            rec.BrokerJoined(new_broker),
            rec.BrokerShutsDown(2),
            rec.ReplicasOffline(1, frozenset({tp(0)})),
            rec.ReplicasDeleted("t", frozenset({ReplicaOfTopic(0, 1)})),
        ],
    )
    assert operations == []
    assert (set(after.brokers), set(after.shutting_down)) == ({1, 2, 3}, {2})
    assert after.offline_replicas == {1: {tp(0)}}
    assert after.deleting == {"t": frozenset()}
    left, _ = replay(after, [rec.BrokerLeft(1), rec.BrokerLeft(2)])
    assert (set(left.brokers), left.shutting_down, dict(left.offline_replicas)) == ({3}, frozenset(), {})


def test_contexts_are_never_changed() -> None:
    before = make_context(1, topics={"t": {0: "1*"}})
    kept = make_context(1, topics={"t": {0: "1*"}})
    replay(
        before, [rec.PartitionStateChanged(tp(0), SECOND), rec.ConfigsSet("topics/t", {"a": "b"}), rec.BrokerLeft(1)]
    )
    assert before == kept
    assert replay(before, [])[0] is before


def test_every_record_is_replayed() -> None:
    assert set(_REPLAY) == set(get_args(Record))
