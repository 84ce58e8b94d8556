"""The cluster id is generated once, by the first node that starts."""

from __future__ import annotations

import asyncio
import json

import pytest

from signalbox.common.ids import uuid_bytes
from signalbox.metadata.entries.cluster_id import read_cluster_id, read_or_create_cluster_id
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.layout import CLUSTER_ID
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Write
from tests.metadata.participants import run_with_stores


def test_all_get_the_same_new_id() -> None:
    async def scenario(shared: SharedEntries, *stores: MemoryMetadataStore) -> None:
        assert await read_cluster_id(stores[0]) is None
        ids = await asyncio.gather(*(read_or_create_cluster_id(store) for store in stores))
        assert len(set(ids)) == 1
        assert len(uuid_bytes(ids[0])) == 16
        entry = await stores[0].read(CLUSTER_ID)
        assert entry is not None
        assert json.loads(entry.data or b"") == {"version": "1", "id": ids[0]}

    run_with_stores(3, scenario)


def test_two_clusters_differ() -> None:
    found: list[str] = []

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        found.append(await read_or_create_cluster_id(store))

    run_with_stores(1, scenario)
    run_with_stores(1, scenario)
    assert found[0] != found[1]


def test_a_broken_id_is_never_replaced() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        await read_or_create_cluster_id(store)
        await store.commit([Write(CLUSTER_ID, b'{"version":"1"}')])
        with pytest.raises(BadEntry):
            await read_or_create_cluster_id(store)

    run_with_stores(1, scenario)
