"""A topic's own configs override the broker's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from signalbox.common.clock import ManualClock
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import encode_configs
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create
from signalbox.server.topic_configs import TopicConfigView
from tests.configuration.settings import config_of


def view_of(repository: ConfigRepository, **static: str) -> TopicConfigView:
    return TopicConfigView(repository, DynamicBrokerConfig(repository, 1, NODE_CONFIG, config_of(**static).values))


def test_the_brokers_values_where_a_topic_has_none(repository: ConfigRepository) -> None:
    view = view_of(repository, min__insync__replicas="2", log__cleanup__policy="compact")
    assert view.settings("t").min_insync_replicas == 2
    assert not view.settings("t").deletes_records


@pytest.mark.parametrize(
    ("policy", "deletes"), [("delete", True), ("compact,delete", True), ("compact", False), ("", True)]
)
def test_records_of_a_topic_that_is_not_only_compacted_can_be_deleted(
    repository: ConfigRepository, policy: str, deletes: bool
) -> None:
    assert view_of(repository, log__cleanup__policy=policy).settings("t").deletes_records == deletes


def test_defaults(repository: ConfigRepository) -> None:
    settings = view_of(repository).settings("t")
    assert (settings.min_insync_replicas, settings.deletes_records) == (1, True)


@pytest.mark.parametrize(
    ("stored", "retention_ms", "min_insync_replicas"),
    [
        ({}, 7_200_000, 3),
        ({"brokers/<default>": {"log.retention.ms": "1000", "min.insync.replicas": "2"}}, 1000, 2),
        ({"brokers/<default>": {"log.retention.ms": "1000"}, "brokers/1": {"log.retention.ms": "500"}}, 500, 3),
        ({"brokers/1": {"log.retention.ms": "500"}, "topics/t": {"retention.ms": "100"}}, 100, 3),
        ({"brokers/1": {"min.insync.replicas": "2"}, "topics/t": {"min.insync.replicas": "1"}}, 7_200_000, 1),
    ],
)
def test_dynamic_broker_configs_are_the_defaults_of_topics(
    stored: Mapping[str, dict[str, str]], retention_ms: int, min_insync_replicas: int
) -> None:
    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        repository = ConfigRepository(store, ManualClock())
        view = view_of(repository, log__retention__hours="2", min__insync__replicas="3")
        assert view.log_config("t").retention_ms == 7_200_000
        for entity_path, configs in stored.items():
            await store.commit([Create(f"/config/{entity_path}", encode_configs(configs))])
        await repository.load(stored)
        assert view.log_config("t").retention_ms == retention_ms
        assert view.settings("t").min_insync_replicas == min_insync_replicas

    asyncio.run(scenario())
