"""A topic's own configs over the broker's."""

from __future__ import annotations

import asyncio
from typing import Any

from signalbox.common.clock import SystemClock
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.storage.config_rows import topic_defaults
from signalbox.testing.cluster import Cluster
from signalbox.wiring.topic_configs import ConfigValuesView, TopicConfigView
from tests.wiring.settings import config_of


def views(**changes: str) -> tuple[TopicConfigView, ConfigValuesView]:
    async def scenario() -> Any:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        repository = ConfigRepository(store, SystemClock())
        config = config_of(**changes)
        return TopicConfigView(repository, {**config.values, **topic_defaults(config.values)}), ConfigValuesView(
            repository
        )

    found: tuple[TopicConfigView, ConfigValuesView] = asyncio.run(scenario())
    return found


def test_the_brokers_values_where_a_topic_has_none() -> None:
    view, values = views(min__insync__replicas="2", log__cleanup__policy="compact")
    assert view.settings("t").min_insync_replicas == 2
    assert not view.settings("t").deletes_records
    assert (values.topic_overrides("t"), values.broker_overrides(1), values.broker_default_overrides()) == ({}, {}, {})


def test_defaults() -> None:
    view, _ = views()
    assert (view.settings("t").min_insync_replicas, view.settings("t").deletes_records) == (1, True)


def test_a_running_brokers_view_of_a_topic(cluster: Cluster) -> None:
    configs = ConfigValuesView(cluster.nodes[1].parts.around.repository)
    assert configs.topic_overrides("never created") == {}
