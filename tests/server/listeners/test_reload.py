"""A change in the store is applied; one that cannot be applied is logged and changes nothing."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries.entity_config import Configs, encode_config_change, encode_configs
from signalbox.metadata.layout import CONFIG_CHANGE_PREFIX
from signalbox.metadata.store.port import Create, Write
from signalbox.testing.cluster import Cluster
from tests.waiting import until

PATH = "/config/brokers/1"


@pytest.fixture
def alone() -> Cluster:
    return Cluster(brokers=1)


async def store(cluster: Cluster, configs: Configs) -> None:
    """Stores configs as another program would: without validation."""
    entries = cluster.nodes[1].components.registrar._store
    known = await entries.read(PATH)
    written = (Create if known is None else Write)(PATH, encode_configs(configs))
    changed = Create(CONFIG_CHANGE_PREFIX, encode_config_change("brokers/1"), numbered=True)
    await entries.commit([written, changed])


def applied(cluster: Cluster) -> Configs:
    return cluster.nodes[1].components.reload.validator.applied


def test_invalid_configs_are_logged_and_the_next_change_is_applied(
    alone: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    good = {"listener.name.client.max.connections": "7"}
    bad = {**good, "max.connections.per.ip": "0"}
    with alone:
        alone.run(store(alone, good))
        until(lambda: applied(alone) == good, "the limit")
        alone.run(store(alone, bad))
        better = {**good, "max.connections.per.ip": "1000"}
        until(lambda: "ignored: max.connections.per.ip" in caplog.text, "a line in the log")
        assert applied(alone) == good
        alone.run(store(alone, better))
        until(lambda: applied(alone) == better, "the valid configs")
        alone.stop_broker(1)
        alone.start_broker(1)
        assert applied(alone) == better
