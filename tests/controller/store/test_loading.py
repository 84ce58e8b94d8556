"""Loading of the context from the store: completely, or only what one decision needs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.controller.context import StoredAcls
from signalbox.controller.direct_writes.metadata_change_log import MetadataChangeLog
from signalbox.controller.election.failover import take_over
from signalbox.controller.entities.feature_control import update_features
from signalbox.controller.entities.producer_ids import allocate_producer_ids
from signalbox.controller.records import AclsSet, ConfigsSet
from signalbox.controller.replay import replay
from signalbox.controller.store.loading import load_brokers, load_context, load_part
from signalbox.metadata.entries.acl_entries import ACL_FOLDERS, encode_acls
from signalbox.metadata.entries.delegation_token import TOKEN_FOLDERS, encode_token
from signalbox.metadata.layout import broker_id_path, controller_id_path, create_roots, token_path, topic_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Write
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from signalbox.protocol.messages.update_features import UpdateFeaturesRequest
from signalbox.security.acl import AccessControlEntry, AclOperation, AclPermission, ResourcePattern, ResourceType
from signalbox.security.delegation_token import DelegationToken
from signalbox.security.principal import KafkaPrincipal
from tests.controller.cluster import inputs, register, registration


def test_brokers_are_loaded_with_their_epochs() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        epochs = {number: await register(store, registration(number)) for number in (1, 2)}
        await store.commit([Create(broker_id_path(3), of_session=True)])  # created, data not yet written
        brokers = await load_brokers(store)
        assert {number: broker.broker_epoch for number, broker in brokers.items()} == epochs
        assert brokers[1].registration == registration(1)

    asyncio.run(run())


def test_controllers_are_loaded_with_what_they_support() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        payload = registration(101, features={"f": (1, 2)}).encode()
        await store.commit([Create(controller_id_path(101), payload, of_session=True)])
        assert (await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))).controllers == {
            101: {"f": (1, 2)}
        }

    asyncio.run(run())


def test_an_empty_store() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        context = await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))
        assert (context.topics, context.brokers, context.configs, context.producer_id_block) == ({}, {}, {}, None)
        assert (context.controller_id, context.controller_epoch) == (1, 5)

    asyncio.run(run())


def test_a_corrupt_token_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await create_roots(store, TOKEN_FOLDERS)
        alice = KafkaPrincipal("User", "alice")
        token = DelegationToken("t", alice, alice, (), issue_ms=1, expiry_ms=2, max_ms=9)
        await store.commit([Create(token_path("t"), encode_token(token)), Create(token_path("u"), b"?")])
        context = await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))
        assert context.tokens == {"t": token}
        assert "/delegation_token/tokens/u" in caplog.text

    asyncio.run(run())


def test_corrupt_acls_are_ignored_until_they_are_written_again() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await create_roots(store, ACL_FOLDERS)
        await store.commit([Create("/kafka-acl/Topic/t", b"?"), Create("/kafka-acl/Group/g", encode_acls([]))])
        context = await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))
        topic, group = ResourcePattern(ResourceType.TOPIC, "t"), ResourcePattern(ResourceType.GROUP, "g")
        assert context.acls == {topic: StoredAcls((), 0), group: StoredAcls((), 0)}
        read = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
        await store.commit(replay(context, [AclsSet(topic, (read,))])[1])
        assert (await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))).acls[topic].entries == (
            read,
        )

    asyncio.run(run())


def test_the_load_of_a_large_store_yields() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        payload = b'{"version":3,"partitions":{"0":[1]}}'
        await store.commit([Create(f"/brokers/topics/t{number}", payload) for number in range(120)])
        scheduler = TaskScheduler(asyncio.get_running_loop(), slice_us=0)
        context = await load_context(store, 1, 5, scheduler)
        assert len(context.topics) == 120
        assert scheduler.slices > 120

    asyncio.run(run())


def test_a_part_has_the_requested_entries_and_the_names_of_topics() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        await register(store, registration(1))
        payload = b'{"version":3,"partitions":{"0":[1]}}'
        await store.commit([Create(topic_path("t.a"), payload), Create(topic_path("u"), payload)])
        await store.commit([Create("/admin/delete_topics/u")])
        complete = await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))
        quota = {"producer_byte_rate": "5"}
        await store.commit(replay(complete, [ConfigsSet("users/a/clients/b", quota), ConfigsSet("topics/u", {})])[1])
        part = await load_part(
            store, 1, ["/config/users", topic_path("t.a"), topic_path("gone"), "/config/topics/gone"]
        )
        assert part.configs == {"users/a": {}, "users/a/clients": {}, "users/a/clients/b": quota}
        assert part.topics["t.a"].assignment.replicas == {0: (1,)}
        assert (set(part.topics), part.collision_names) == ({"t.a", "u"}, {"t_a": "t.a", "u": "u"})
        assert part.usable_topic("u") is None, "on its way out"
        assert (part.brokers, part.acls) == ({}, {})

    asyncio.run(run())


def test_a_complete_context_has_the_version_of_the_change_log() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await store.commit([MetadataChangeLog().followed_by(["/config/topics/t"]).operation()])
        assert (await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))).shared_version == 1

    asyncio.run(run())


def test_corrupt_entries_prevent_no_load_and_are_not_changed(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await create_roots(store)
        await store.open_session()
        await register(store, registration(1))
        corrupt = {
            "/feature": b'{"version": 1e999}',
            "/brokers/ids/x": b"{}",
            "/brokers/ids/7": b'{"version": 5}',
            "/config/users/a": b"[",
            "/signalbox_shared_changes": b"[" * 10_000,
            "/latest_producer_id_block": b'{"version":1,"broker":1,"block_start":"-9","block_end":"-1"}',
        }
        roots = ("/signalbox_shared_changes", "/latest_producer_id_block")
        for path, data in corrupt.items():
            await store.commit([Write(path, data) if path in roots else Create(path, data)])
        context = await load_context(store, 1, 5, TaskScheduler(asyncio.get_running_loop()))
        assert (set(context.brokers), context.configs) == ({1}, {"users/a": {}})
        assert "/feature" in context.features.read_error
        await store.commit(replay(context, take_over(context, inputs()).records)[1])
        for path, data in corrupt.items():
            entry = await store.read(path)
            assert entry is not None
            assert entry.data == data
        for path in corrupt:
            assert path in caplog.text
        epoch = context.brokers[1].broker_epoch
        asked = AllocateProducerIdsRequest(broker_id=1, broker_epoch=epoch)
        allocated: Any = allocate_producer_ids(context, inputs(), asked).response
        assert allocated.error_code == Error.UNKNOWN_SERVER_ERROR
        response: Any = update_features(context, inputs(), UpdateFeaturesRequest()).response
        assert response.error_code == Error.FEATURE_UPDATE_FAILED
        assert "/feature" in response.error_message

    asyncio.run(run())
