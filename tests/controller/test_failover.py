"""A new controller finds everything, elects what is missing, tells everybody (facts §4.10)."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.controller.context import ReplicaOfTopic, StoredAcls
from signalbox.controller.decision import BrokersAnnounced, LeadersAnnounced, MetadataAnnounced, ReplicasStopped
from signalbox.controller.failover import load_brokers, load_context, take_over
from signalbox.controller.records import AclsSet, TopicDeletionRefused
from signalbox.controller.replay import replay
from signalbox.metadata.acl_entries import ACL_FOLDERS, encode_acls
from signalbox.metadata.delegation_token import TOKEN_FOLDERS, encode_token
from signalbox.metadata.feature_levels import FinalizedFeatures
from signalbox.metadata.layout import broker_id_path, create_roots, token_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create
from signalbox.security.acl import AccessControlEntry, AclOperation, AclPermission, ResourcePattern, ResourceType
from signalbox.security.delegation_token import DelegationToken
from signalbox.security.principal import KafkaPrincipal
from tests.controller.cluster import inputs, register, registration
from tests.controller.contexts import make_context, states, tp


def test_brokers_are_loaded_with_their_epochs() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        epochs = {number: await register(store, registration(number)) for number in (1, 2)}
        await store.commit([Create(broker_id_path(3), of_session=True)])  # made, not yet written
        brokers = await load_brokers(store)
        assert {number: broker.broker_epoch for number, broker in brokers.items()} == epochs
        assert brokers[1].registration == registration(1)

    asyncio.run(run())


def test_an_empty_store() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        context = await load_context(store, 1, 5, lambda: asyncio.sleep(0))
        assert (context.topics, context.brokers, context.configs, context.producer_id_block) == ({}, {}, {}, None)
        assert (context.controller_id, context.controller_epoch) == (1, 5)

    asyncio.run(run())


def test_a_damaged_token_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await create_roots(store, TOKEN_FOLDERS)
        alice = KafkaPrincipal("User", "alice")
        token = DelegationToken("t", alice, alice, (), issue_ms=1, expiry_ms=2, max_ms=9)
        await store.commit([Create(token_path("t"), encode_token(token)), Create(token_path("u"), b"?")])
        context = await load_context(store, 1, 5, lambda: asyncio.sleep(0))
        assert context.tokens == {"t": token}
        assert "/delegation_token/tokens/u" in caplog.text

    asyncio.run(run())


def test_damaged_acls_stop_nobody_and_are_written_anew() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await create_roots(store, ACL_FOLDERS)
        await store.commit([Create("/kafka-acl/Topic/t", b"?"), Create("/kafka-acl/Group/g", encode_acls([]))])
        context = await load_context(store, 1, 5, lambda: asyncio.sleep(0))
        topic, group = ResourcePattern(ResourceType.TOPIC, "t"), ResourcePattern(ResourceType.GROUP, "g")
        assert context.acls == {topic: StoredAcls((), 0), group: StoredAcls((), 0)}
        read = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
        await store.commit(replay(context, [AclsSet(topic, (read,))])[1])
        assert (await load_context(store, 1, 5, lambda: asyncio.sleep(0))).acls[topic].entries == (read,)

    asyncio.run(run())


def test_large_stores_are_read_in_breaths() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        payload = b'{"version":3,"partitions":{"0":[1]}}'
        await store.commit([Create(f"/brokers/topics/t{number}", payload) for number in range(120)])
        breaths = []

        async def breathe() -> None:
            breaths.append(True)

        context = await load_context(store, 1, 5, breathe)
        assert len(context.topics) == 120
        assert len(breaths) == 2

    asyncio.run(run())


def test_everything_without_a_living_leader_is_elected() -> None:
    topics = {
        "t": {
            0: "1* 2 3",  # broker 1 died with the old controller
            1: "2* 1 3",  # and was in this ISR too
            2: "2* 3",
            3: "1 2 isr 1",  # waits for broker 1
            4: "3 isr new",
        },
        "going": {0: "2* 1"},
    }
    context = make_context(
        2, 3, topics=topics, deleting={"going": frozenset({ReplicaOfTopic(0, 2)}), "unknown": frozenset()}
    )
    decision = take_over(context, inputs())
    assert states(decision) == {
        "t-0": "2/8/4 isr 2 3",
        "t-1": "2/8/4 isr 2 3",
        "t-4": "3/0/0 isr 3",
    }
    assert TopicDeletionRefused("unknown") in decision.records
    assert decision.effects == (
        BrokersAnnounced(names_topics=True),
        LeadersAnnounced(tuple(tp(number) for number in range(5))),
        MetadataAnnounced((tp(0, "going"),)),
        LeadersAnnounced((tp(4),), is_new=True),
        ReplicasStopped(2, (tp(0, "going"),), delete=True),
    )


def test_a_quiet_takeover_changes_nothing_and_tells_everything() -> None:
    features = FinalizedFeatures({}, 0, True)
    decision = take_over(make_context(1, 2, topics={"t": {0: "1* 2"}}, features=features), inputs())
    assert decision.records == ()
    assert LeadersAnnounced((tp(0),)) in decision.effects
