"""The controller of a node: built on the store, with metrics under Kafka's names."""

from __future__ import annotations

import asyncio

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.common.clock import SystemClock
from signalbox.configuration.policies import Policies
from signalbox.configuration.security_config import read_security_config
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.wiring.controller_components import build_controller
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.configuration.settings import config_of


def test_not_yet_in_the_race() -> None:
    async def scenario() -> None:
        config, registry = config_of(num__partitions="7"), MetricRegistry()
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        controller, peers = build_controller(
            config, store, "cluster", MetadataCache(), read_security_config(config), Policies(), registry,
            SystemClock(), ImmediateScheduler(),
        )  # fmt: skip
        found = {sample.name.name: sample.value for sample in registry.samples()}
        assert found["ActiveControllerCount"] == 0
        assert found["OfflinePartitionsCount"] == 0
        assert not controller.is_active
        await peers.close()

    asyncio.run(scenario())
