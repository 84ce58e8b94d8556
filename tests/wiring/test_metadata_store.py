"""Which store a configuration asks for, and what is wrong with how it asks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.common.clock import SystemClock
from signalbox.common.start_refused import StartRefused
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.wiring.configuration import NODE_CONFIG
from signalbox.wiring.metadata_store import check_store, open_store

TLS = {"zookeeper.connect": "zk", "zookeeper.ssl.client.enable": "true"}


def faults(given: dict[str, str]) -> list[tuple[str, str, str]]:
    values, unread = NODE_CONFIG.read(given)
    assert unread == []
    return [(fault.key, fault.entry, fault.problem) for fault in check_store(values)]


@pytest.mark.parametrize(
    "given",
    [
        {"metadata.store": "sqlite:/x/y.db"},
        {"metadata.store": "zookeeper:zk1:2181,zk2:2181/kafka"},
        {"zookeeper.connect": "zk1:2181/kafka"},
    ],
)
def test_stores_that_there_are(given: dict[str, str]) -> None:
    assert faults(given) == []


@pytest.mark.parametrize(
    ("given", "key", "gist"),
    [
        ({}, "metadata.store", "is missing"),
        ({"metadata.store": "sqlite:"}, "metadata.store", "is no store"),
        ({"metadata.store": "etcd:here"}, "metadata.store", "is no store"),
        ({"metadata.store": "sqlite:a", "zookeeper.connect": "zk"}, "metadata.store", "is set as well"),
        ({"metadata.store": "zookeeper:zk:x"}, "metadata.store", "'x' is no port"),
        ({"zookeeper.connect": "zk:1/a,zk2:1/a"}, "zookeeper.connect", "one chroot follows the last host"),
        ({**TLS, "zookeeper.ssl.truststore.location": "/no"}, "zookeeper.ssl.truststore.location", "cannot be read"),
        (
            {**TLS, "zookeeper.ssl.truststore.location": "/dev/null", "zookeeper.ssl.truststore.type": "JKS"},
            "zookeeper.ssl.truststore.type",
            "is not read",
        ),
        ({"zookeeper.connect": "zk", "zookeeper.set.acl": "true"}, "zookeeper.set.acl", "needs an identity"),
    ],
)  # fmt: skip
def test_what_is_wrong_names_the_key(given: dict[str, str], key: str, gist: str) -> None:
    [(told_key, _, problem)] = faults(given)
    assert told_key == key
    assert gist in problem


def test_a_store_is_opened_with_a_session(tmp_path: Path) -> None:
    async def scenario() -> None:
        values, _ = NODE_CONFIG.read({"metadata.store": f"sqlite:{tmp_path / 'm.db'}"})
        store = await open_store(values, SystemClock())
        assert isinstance(store, SqliteMetadataStore)
        assert store.session_id
        await store.close()

    asyncio.run(scenario())


def test_an_ensemble_that_is_not_there_refuses_the_start_and_names_the_key() -> None:
    async def scenario() -> None:
        given = {"zookeeper.connect": "127.0.0.1:1", "zookeeper.connection.timeout.ms": "200"}
        values, _ = NODE_CONFIG.read(given)
        with pytest.raises(StartRefused) as refused:
            await open_store(values, SystemClock())
        [fault] = refused.value.faults
        assert fault.key == "zookeeper.connect"
        assert "no ZooKeeper at 127.0.0.1:1" in fault.problem

    asyncio.run(scenario())
