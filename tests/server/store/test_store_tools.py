"""Stores copied, backed up and restored without a broker, with the settings that a broker has."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.common.clock import SystemClock
from signalbox.common.config.start_error import StartError
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.configuration.metadata_store import open_store
from signalbox.metadata.backup.store_copy import CopyRejected
from signalbox.metadata.entries.cluster_id import read_or_create_cluster_id
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.port import Create
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.server.store.store_tools import back_up, copy, restore

TOPIC, CONTENT = "/brokers/topics/t", b'{"partitions":{"0":[1]}}'


async def opened(setting: str) -> SqliteMetadataStore:
    values, _ = NODE_CONFIG.read({"signalbox.metadata.store": setting})
    store = await open_store(values, SystemClock())
    assert isinstance(store, SqliteMetadataStore)
    return store


async def filled(setting: str) -> None:
    """Creates a cluster's store with one topic."""
    store = await opened(setting)
    await create_roots(store)
    await read_or_create_cluster_id(store)
    await store.commit([Create(TOPIC, CONTENT)])
    await store.close()


async def topic_in(setting: str) -> bytes | None:
    store = await opened(setting)
    entry = await store.read(TOPIC)
    await store.close()
    assert entry is not None
    return entry.data


def ignored(*_: object) -> None:
    """Ignores the progress."""


def test_one_store_becomes_another(tmp_path: Path) -> None:
    old, new = f"sqlite:{tmp_path / 'old.db'}", f"sqlite:{tmp_path / 'new.db'}"

    async def main() -> None:
        await filled(old)
        await copy(old, new, {}, ignored)
        assert await topic_in(new) == CONTENT

    asyncio.run(main())


def test_a_backup_becomes_a_store(tmp_path: Path) -> None:
    old, new, file = f"sqlite:{tmp_path / 'old.db'}", f"sqlite:{tmp_path / 'new.db'}", tmp_path / "backup"

    async def main() -> None:
        await filled(old)
        assert await back_up(old, file, {}) > 0
        await restore(file.read_bytes(), new, {}, ignored)
        assert await topic_in(new) == CONTENT

    asyncio.run(main())


def test_a_store_to_read_from_is_not_made_by_looking(tmp_path: Path) -> None:
    missing, target = tmp_path / "none.db", tmp_path / "new.db"
    with pytest.raises(CopyRejected, match="is not there"):
        asyncio.run(copy(f"sqlite:{missing}", f"sqlite:{target}", {}, ignored))
    with pytest.raises(CopyRejected, match="is not there"):
        asyncio.run(back_up(f"sqlite:{missing}", tmp_path / "backup", {}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "given", "key"),
    [
        ("etcd:here", {}, "signalbox.metadata.store"),
        ("zookeeper:127.0.0.1:1", {"zookeeper.set.acl": "true"}, "zookeeper.set.acl"),
    ],
)
def test_settings_that_no_broker_could_start_with(
    setting: str, given: dict[str, str], key: str, tmp_path: Path
) -> None:
    with pytest.raises(StartError) as rejected:
        asyncio.run(back_up(setting, tmp_path / "backup", given))
    assert key in str(rejected.value)


def test_of_a_brokers_file_only_the_access_counts(tmp_path: Path) -> None:
    """zookeeper.connect beside signalbox.metadata.store would be a fault: the command itself names the store."""
    source = f"sqlite:{tmp_path / 'old.db'}"

    async def main() -> int:
        await filled(source)
        return await back_up(source, tmp_path / "backup", {"zookeeper.connect": "zk", "node.id": "no number"})

    assert asyncio.run(main()) > 0
