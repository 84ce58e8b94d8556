"""A folder of numbered notifications: each is read once, in order; every reader deletes old ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from signalbox.common.clock import ManualClock
from signalbox.metadata.change_notifications import (
    MAX_NOTIFICATIONS,
    NOTIFICATION_LIFETIME_MS,
    ChangeNotifications,
    Following,
)
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, Delete, Entry, StoreError

FOLDER = "/changes"


class Reader:
    """Follows the folder. `loaded`: the subjects that were read; `everything`: how often all entries were read."""

    def __init__(self, store: MemoryMetadataStore, clock: ManualClock) -> None:
        self.loaded: list[str] = []
        self.everything = 0
        self.changes = ChangeNotifications(store, clock, Following(FOLDER, self._decode, self._load, self._load_all))
        self._loaded_more = asyncio.Event()

    async def wait_for(self, subject: str) -> None:
        async with asyncio.timeout(60):
            while subject not in self.loaded:
                await self._loaded_more.wait()
                self._loaded_more.clear()

    def _decode(self, path: str, data: bytes | None) -> str:
        if not data:
            raise BadEntry(f"{path} is empty")
        return data.decode()

    async def _load(self, subjects: Iterable[str]) -> None:
        self.loaded += subjects
        self._loaded_more.set()

    async def _load_all(self) -> None:
        self.everything += 1


def notification(subject: str) -> Create:
    return Create(f"{FOLDER}/change_", subject.encode(), numbered=True)


async def begun(clock: ManualClock | None = None) -> tuple[MemoryMetadataStore, MemoryMetadataStore, Reader]:
    shared = SharedEntries(clock or ManualClock())
    writer, store = MemoryMetadataStore(shared), MemoryMetadataStore(shared)
    await writer.commit([Create(FOLDER), notification("before")])
    reader = Reader(store, clock or ManualClock())
    await reader.changes.start()
    return writer, store, reader


def test_notifications_are_read_once_in_order_without_duplicates() -> None:
    async def scenario() -> None:
        writer, _, reader = await begun()
        await writer.commit(
            [notification("a"), notification("b"), notification("a"), notification(""), notification("c")]
        )
        await reader.wait_for("c")
        assert reader.loaded == ["a", "b", "c"]
        await writer.commit([notification("d")])
        await reader.wait_for("d")
        assert (reader.loaded, reader.everything) == (["a", "b", "c", "d"], 1)
        await reader.changes.stop()

    asyncio.run(scenario())


def test_catching_up_does_not_wait_for_the_watch_and_reports_errors() -> None:
    async def scenario() -> None:
        writer, store, reader = await begun()
        await writer.commit([notification("a")])
        await reader.changes.catch_up()
        assert reader.loaded == ["a"]
        await store.close()
        with pytest.raises(StoreError):
            await reader.changes.catch_up()
        await reader.changes.stop()

    asyncio.run(scenario())


def test_old_notifications_are_removed() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        writer, _, reader = await begun(clock)
        clock.advance(NOTIFICATION_LIFETIME_MS + 1)
        await writer.commit([notification("a")])
        await reader.changes.catch_up()
        assert await writer.children(FOLDER) == ["change_0000000001"]
        await reader.changes.stop()

    asyncio.run(scenario())


def test_many_notifications_are_halved() -> None:
    async def scenario() -> None:
        writer, _, reader = await begun()
        await writer.commit([notification("a")] * MAX_NOTIFICATIONS)
        await reader.changes.catch_up()
        assert len(await writer.children(FOLDER)) == MAX_NOTIFICATIONS // 2
        await reader.changes.stop()

    asyncio.run(scenario())


def test_a_gap_means_that_everything_is_read() -> None:
    async def scenario() -> None:
        writer, store, reader = await begun()
        store.pause()
        await writer.commit([notification("a"), notification("b")])
        old = [f"{FOLDER}/change_000000000{number}" for number in range(2)]
        await writer.commit([Delete(path) for path in old])
        store.resume()
        await reader.changes.catch_up()
        assert (reader.everything, reader.loaded) == (2, ["b"])
        await reader.changes.stop()

    asyncio.run(scenario())


class Counted:
    """A store that records the paths that are read."""

    def __init__(self, store: MemoryMetadataStore) -> None:
        self._store = store
        self.reads: list[str] = []
        self.before_read: Callable[[], Awaitable[object]] | None = None

    async def read(self, path: str) -> Entry | None:
        self.reads.append(path)
        if self.before_read is not None:
            await self.before_read()
        return await self._store.read(path)

    async def read_tree(self, path: str) -> dict[str, Entry]:
        self.reads.append("tree")
        return await self._store.read_tree(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def counted() -> tuple[MemoryMetadataStore, Counted, Reader]:
    """A reader that starts when the folder has fifty old notifications."""
    shared = SharedEntries(ManualClock())
    writer, store = MemoryMetadataStore(shared), Counted(MemoryMetadataStore(shared))
    await writer.commit([Create(FOLDER), *[notification("before")] * 50])
    reader = Reader(store, ManualClock())  # type: ignore[arg-type]
    await reader.changes.start()
    return writer, store, reader


def test_a_change_costs_no_look_at_the_old_ones() -> None:
    async def scenario() -> None:
        writer, store, reader = await counted()
        await writer.commit([notification("a")])
        await reader.changes.catch_up()
        assert store.reads == [f"{FOLDER}/change_0000000050", f"{FOLDER}/change_0000000000"], "its own, and the oldest"
        store.reads.clear()
        await writer.commit([notification("b")])
        await reader.changes.catch_up()
        assert store.reads == [f"{FOLDER}/change_0000000051"]
        store.reads.clear()
        await writer.commit([notification(f"many-{number}") for number in range(100)])
        await reader.changes.catch_up()
        assert store.reads == ["tree"]
        assert reader.loaded[-1] == "many-99"
        await reader.changes.stop()

    asyncio.run(scenario())


def test_a_notification_that_is_removed_before_it_is_read_means_that_everything_is_read() -> None:
    async def scenario() -> None:
        writer, store, reader = await counted()
        path = f"{FOLDER}/change_0000000050"

        async def removed() -> None:
            store.before_read = None
            await writer.commit([Delete(path)])

        store.before_read = removed
        await writer.commit([notification("gone")])
        await reader.changes.catch_up()
        assert (reader.everything, reader.loaded) == (2, [])
        await writer.commit([notification("next")])
        await reader.changes.catch_up()
        assert (reader.everything, reader.loaded) == (2, ["next"])
        await reader.changes.stop()

    asyncio.run(scenario())


def test_on_a_full_store_notifications_are_read_and_old_ones_stay() -> None:
    async def scenario() -> None:
        clock = ManualClock()
        writer, store, reader = await begun(clock)
        clock.advance(NOTIFICATION_LIFETIME_MS + 1)
        await writer.commit([notification("a")])
        store._shared.free_space_bytes = 0
        await reader.changes.catch_up()
        assert reader.loaded == ["a"]
        assert len(await writer.children(FOLDER)) == 2
        store._shared.free_space_bytes = None
        await writer.commit([notification("b")])
        await reader.changes.catch_up()
        assert await writer.children(FOLDER) == ["change_0000000001", "change_0000000002"]
        await reader.changes.stop()

    asyncio.run(scenario())
