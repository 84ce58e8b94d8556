"""Copy of the metadata to another store: persistent entries, no ephemeral ones; a failed copy can be retried."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from signalbox.metadata import layout
from signalbox.metadata.backup.store_copy import CopyRejected, copy_store, lasting
from signalbox.metadata.entries.cluster_id import read_cluster_id, read_or_create_cluster_id
from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import (
    ROOT,
    Create,
    Delete,
    Fence,
    Operation,
    OperationResult,
    StoreUnavailable,
    Write,
)


class Failing(MemoryMetadataStore):
    """A store that becomes unavailable after `commits_left` commits."""

    commits_left = 0

    async def commit(self, operations: Sequence[Operation], fence: Fence | None = None) -> list[OperationResult]:
        if not self.commits_left:
            raise StoreUnavailable("gone")
        self.commits_left -= 1
        return await super().commit(operations, fence)


async def source() -> MemoryMetadataStore:
    store = MemoryMetadataStore(SharedEntries())
    await create_roots(store)
    await read_or_create_cluster_id(store)
    await store.open_session()
    await store.commit(
        [
            Create("/controller_epoch", b"7"),
            Create("/controller", b"me", of_session=True),
            Create("/brokers/topics/t", b'{"partitions":{"0":[1]}}'),
            Create("/brokers/topics/t/partitions"),
            Create("/config/topics/t", b'{"version":1,"config":{}}'),
            Create("/config/changes/config_change_", b"notification", numbered=True),
        ]
    )
    return store


def empty() -> MemoryMetadataStore:
    return MemoryMetadataStore(SharedEntries())


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scenario())  # type: ignore[arg-type]


def test_all_that_lasts_is_there_afterwards() -> None:
    async def scenario() -> None:
        old, new = await source(), empty()
        seen: list[tuple[int, int]] = []
        report = await copy_store(old, new, lambda done, total: seen.append((done, total)))
        assert report.cluster_id == await read_cluster_id(new) == await read_cluster_id(old)
        tree = await new.read_tree(ROOT)
        assert lasting(tree) == lasting(await old.read_tree(ROOT))
        assert "/brokers/topics/t/partitions" in tree
        assert not {"/controller", layout.UNFINISHED_COPY} & tree.keys()
        assert not any(path.startswith("/config/changes/") for path in tree)
        assert seen[0] == (0, report.to_write)
        assert seen[-1] == (report.to_write, report.to_write)
        assert (await copy_store(old, new)).to_write == 0, "a second time there is nothing to do"

    run(scenario)


def test_a_dry_run_writes_nothing() -> None:
    async def scenario() -> None:
        new = empty()
        report = await copy_store(await source(), new, dry_run=True)
        assert report.to_write == report.entries > 10
        assert list(await new.read_tree(ROOT)) == [ROOT]

    run(scenario)


def test_cut_short_it_is_marked_and_run_again() -> None:
    async def scenario() -> None:
        old, shared = await source(), SharedEntries()
        cut = Failing(shared)
        cut.commits_left, cut.max_commit_bytes = 3, 400
        with pytest.raises(StoreUnavailable):
            await copy_store(old, cut)
        again = MemoryMetadataStore(shared)
        assert await again.read(layout.UNFINISHED_COPY) is not None
        # The source has changed meanwhile: entries that were copied already are corrected.
        await old.commit([Write("/controller_epoch", b"8"), Delete("/config/topics/t")])
        await copy_store(old, again)
        assert lasting(await again.read_tree(ROOT)) == lasting(await old.read_tree(ROOT))
        assert await again.read(layout.UNFINISHED_COPY) is None

    run(scenario)


def test_an_unsuitable_source_or_target_is_rejected_and_not_modified() -> None:
    async def scenario() -> None:
        old, other = await source(), await source()
        before = await other.read_tree(ROOT)
        with pytest.raises(CopyRejected, match="not empty"):
            await copy_store(old, other)
        assert await other.read_tree(ROOT) == before
        with pytest.raises(CopyRejected, match="no cluster"):
            await copy_store(empty(), empty())
        await old.commit([Create("/brokers/ids/3", b"{}", of_session=True)])
        with pytest.raises(CopyRejected, match=r"source has live brokers \(3\)"):
            await copy_store(old, empty())
        marked = empty()
        await marked.commit([Create(layout.UNFINISHED_COPY, b'{"version":1,"cluster_id":"another"}')])
        with pytest.raises(CopyRejected, match="unfinished copy of another cluster, another"):
            await copy_store(await source(), marked)

    run(scenario)


def test_a_source_that_changes_meanwhile_is_noticed() -> None:
    async def scenario() -> None:
        old, new = await source(), empty()
        new.max_commit_bytes = 400  # many commits, so that other tasks run between them
        changed = False

        def change(done: int, total: int) -> None:
            nonlocal changed
            if not changed:
                changed = True
                tasks.append(asyncio.ensure_future(old.commit([Write("/controller_epoch", b"9")])))

        tasks: list[asyncio.Future[list[OperationResult]]] = []
        with pytest.raises(CopyRejected, match="the source changed meanwhile"):
            await copy_store(old, new, change)
        assert await new.read(layout.UNFINISHED_COPY) is not None
        await copy_store(old, new)

    run(scenario)


@pytest.mark.spec("F15")
def test_a_live_controller_is_in_the_way_too() -> None:
    async def scenario() -> None:
        old = await source()
        await old.commit([Create("/signalbox_controllers/101", b"{}", of_session=True)])
        with pytest.raises(CopyRejected, match=r"source has live controllers \(101\)"):
            await copy_store(old, empty())

    asyncio.run(scenario())
