"""A controller sends its audit events to any broker that is registered; a broker creates the topic once."""

from __future__ import annotations

import asyncio

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.configuration.peer_security import PeerSecurity
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import BrokerImage, MetadataImage, TopicImage
from signalbox.metadata.layout import broker_id_path, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create
from signalbox.network.listeners.network_settings import read_network_settings
from signalbox.protocol.error_table import Error
from signalbox.server.audit_topic_locator import AuditTopicLocator, created_audit_topic
from tests.configuration.settings import controller_config_of
from tests.controller.cluster import register, registration


def test_brokers_on_one_listener() -> None:
    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        config = controller_config_of()
        network, _ = read_network_settings(config.originals, ["REPLICATION"])
        way = AuditTopicLocator(store, config, PeerSecurity(network))
        assert (await way.find())[0] == Error.BROKER_NOT_AVAILABLE
        await store.commit([Create(broker_id_path(7), b"nonsense")])
        await register(store, registration(1))
        await register(store, registration(2, inter_broker_listener="CLIENT"))  # after a rolling change to another one
        await register(store, registration(3))
        assert await way.find() == (0, "")
        assert [tuple(address) for address in way.settings().bootstrap] == [("host1", 9101), ("host3", 9103)]
        assert way.settings().client_id == "signalbox-audit-101"

    asyncio.run(scenario())


def test_a_broker_that_starts_waits_for_metadata_and_creates_only_a_missing_topic() -> None:
    created: list[str] = []

    async def create() -> tuple[int, str]:
        created.append(AUDIT_TOPIC)
        return int(Error.INVALID_REPLICATION_FACTOR), "too few brokers"

    def image(*topics: str) -> MetadataImage:
        return MetadataImage({1: BrokerImage(1, None, {})}, {one: TopicImage(one, b"", {}) for one in topics}, {})

    async def scenario() -> None:
        cache = MetadataCache()
        early = asyncio.create_task(created_audit_topic(cache, create))
        await asyncio.sleep(0)
        assert not early.done()
        cache._take(image("other", AUDIT_TOPIC), set())
        assert await early == (0, "")
        assert created == []
        cache._take(image("other"), set())
        assert await created_audit_topic(cache, create) == (Error.INVALID_REPLICATION_FACTOR, "too few brokers")
        assert created == [AUDIT_TOPIC]

    asyncio.run(scenario())
