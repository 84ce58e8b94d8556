"""Reads that do not wait for one another."""

from __future__ import annotations

import asyncio

from signalbox.metadata.store.concurrent_reads import both, children_of, read_all, read_trees
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create


def test_the_result_of_each_read_is_in_its_place() -> None:
    async def run() -> None:
        store = MemoryMetadataStore(SharedEntries())
        folders = [f"/f{number}" for number in range(250)]
        await store.commit([Create(folder, folder.encode()) for folder in folders])
        await store.commit([Create(f"{folder}/below") for folder in folders])
        tree, (first, none, last) = await both(
            read_trees(store, [*folders, "/absent"]), children_of(store, "/f0", "/absent", "/")
        )
        assert sorted(tree) == sorted([*folders, *(f"{folder}/below" for folder in folders)])
        assert [entry and entry.data for entry in await read_all(store, ["/f1", "/absent"])] == [b"/f1", None]
        assert tree["/f249"].data == b"/f249"
        assert (first, none, last) == (["below"], [], sorted(folder[1:] for folder in folders))

    asyncio.run(run())
