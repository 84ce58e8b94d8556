"""The current value of a broker key: this broker's, all brokers', server.properties', the default."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.config.config_table import Value
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.dynamic_broker_config import DynamicBrokerConfig
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import encode_configs
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Write
from tests.configuration.settings import config_of

FOR_ALL, FOR_THIS = "brokers/<default>", "brokers/1"


def values(stored: Mapping[str, Mapping[str, str]], **static: str) -> Mapping[str, Value]:
    """The values of broker 1 when the store has these configs."""

    async def scenario() -> Mapping[str, Value]:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        repository = ConfigRepository(store, ManualClock())
        for entity_path, configs in stored.items():
            await store.commit([Create(f"/config/{entity_path}", encode_configs(dict(configs)))])
        await repository.load(stored)
        return DynamicBrokerConfig(repository, 1, NODE_CONFIG, config_of(**static).values).values

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("stored", "value"),
    [
        ({}, 4),
        ({FOR_ALL: "3"}, 3),
        ({FOR_ALL: "3", FOR_THIS: "2"}, 2),
        ({"brokers/2": "9"}, 4),
        ({FOR_THIS: "many", FOR_ALL: "3"}, 3),
    ],
)
def test_the_nearest_counts(stored: Mapping[str, str], value: int) -> None:
    key = "min.insync.replicas"
    found = values({path: {key: text} for path, text in stored.items()}, min__insync__replicas="4")
    assert found[key] == value


def test_invalid_stored_values_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    values({FOR_ALL: {"log.retention.ms": "soon"}})
    assert "ignored (key=log.retention.ms): 'soon' is not a whole number" in caplog.text


@pytest.mark.parametrize("key", ["socket.send.buffer.bytes", "ssl.client.auth", "a.plugins.key"])
def test_keys_that_only_a_restart_changes_and_unknown_ones_do_not_count(key: str) -> None:
    assert values({FOR_THIS: {key: "7"}}) == config_of().values


def test_the_values_follow_a_change() -> None:
    async def scenario() -> None:
        store = MemoryMetadataStore(SharedEntries())
        await store.open_session()
        await create_roots(store)
        repository = ConfigRepository(store, ManualClock())
        dynamic = DynamicBrokerConfig(repository, 1, NODE_CONFIG, config_of().values)
        seen = []
        path = f"/config/{FOR_ALL}"
        for operation in (
            Create(path, encode_configs({"log.retention.ms": "5"})),
            Write(path, encode_configs({"log.retention.ms": "6"})),
            Delete(path),
        ):
            await store.commit([operation])
            await repository.load([FOR_ALL])
            seen.append(dynamic.values["log.retention.ms"])
            assert dynamic.values is dynamic.values
        assert seen == [5, 6, None]

    asyncio.run(scenario())


def test_whose_entities_are_this_brokers(repository: ConfigRepository) -> None:
    dynamic = DynamicBrokerConfig(repository, 1, NODE_CONFIG, {})
    paths = (FOR_ALL, FOR_THIS, "brokers/11", "topics/1")
    assert [dynamic.is_set_by(path) for path in paths] == [True, True, False, False]


@pytest.mark.spec("D15")
def test_an_unknown_key_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    values({FOR_THIS: {"log.retension.ms": "5"}, FOR_ALL: {"num.io.threads": "4", "log.retension.ms": "6"}})
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 2
    assert "log.retension.ms" in warnings[1]
    assert "is not a known key (did you mean log.retention.ms?)" in warnings[1]
    assert "num.io.threads" in warnings[0]
    assert "has no effect" in warnings[0]
