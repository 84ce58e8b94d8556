"""The stores for the contract tests of the port. Each one creates participants of one store, and can kill them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Delete, KeyMissing, MetadataStore
from signalbox.metadata.store.sqlite import SqliteMetadataStore


class World(Protocol):
    """One store and its participants."""

    def participant(self) -> Any:
        """A new participant without a session."""
        ...

    async def doomed(self) -> MetadataStore:
        """A participant with a session that the others will expire because it sends no heartbeat."""
        ...

    def kill(self, store: Any) -> None:
        """Ends a participant like a killed process."""
        ...

    async def fill(self, store: Any) -> None:
        """Leaves the participant space for small commits only, as on a disk that is nearly full."""
        ...

    async def make_room(self, store: Any) -> None:
        """Undoes `fill`."""
        ...

    async def close(self) -> None:
        """Closes every participant."""
        ...


FREE_PAGES = 20  # of 4096 bytes: the space that `fill` leaves


async def fill(store: MemoryMetadataStore | SqliteMetadataStore) -> None:
    """`World.fill` for a participant of either store."""
    if isinstance(store, MemoryMetadataStore):
        store._shared.free_space_bytes = FREE_PAGES * 4096
    else:
        await _limit_pages(store, FREE_PAGES)


async def make_room(store: MemoryMetadataStore | SqliteMetadataStore) -> None:
    """`World.make_room` for a participant of either store."""
    if isinstance(store, MemoryMetadataStore):
        store._shared.free_space_bytes = None
    else:
        await _limit_pages(store, 1 << 30)


async def _limit_pages(store: SqliteMetadataStore, more: int) -> None:
    """Makes SQLite report a full disk if the file would grow by more than `more` pages; for this connection only."""

    def limit() -> None:
        connection = store._started().database()._connection
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {min(pages + more, 1 << 30)}")

    await store._ask(limit)


class MemoryWorld:
    def __init__(self, folder: Path) -> None:
        self._shared = SharedEntries()
        self._participants: list[MemoryMetadataStore] = []

    def participant(self) -> MemoryMetadataStore:
        store = MemoryMetadataStore(self._shared)
        self._participants.append(store)
        return store

    async def doomed(self) -> MetadataStore:
        store = self.participant()
        session_id = await store.open_session()
        asyncio.get_running_loop().call_later(0.05, self._shared.expire, session_id)
        return store

    async def fill(self, store: MemoryMetadataStore) -> None:
        await fill(store)

    async def make_room(self, store: MemoryMetadataStore) -> None:
        await make_room(store)

    def kill(self, store: MemoryMetadataStore) -> None:
        store.abandon()
        self._participants.remove(store)

    async def close(self) -> None:
        for store in self._participants:
            await store.close()


class SqliteWorld:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "metadata.db"
        self._participants: list[SqliteMetadataStore] = []

    def participant(self, session_timeout_ms: int = 6_000) -> SqliteMetadataStore:
        store = SqliteMetadataStore(self.path, session_timeout_ms)
        self._participants.append(store)
        return store

    async def doomed(self) -> MetadataStore:
        # The timeout is shorter than the interval of heartbeats: the other participants expire this session.
        store = self.participant(session_timeout_ms=1)
        await store.open_session()
        return store

    async def fill(self, store: SqliteMetadataStore) -> None:
        await fill(store)

    async def make_room(self, store: SqliteMetadataStore) -> None:
        await make_room(store)

    def kill(self, store: SqliteMetadataStore) -> None:
        store.abandon()
        self._participants.remove(store)

    async def close(self) -> None:
        for store in self._participants:
            await store.close()


async def delete_when_it_exists(store: MetadataStore, path: str) -> None:
    """For a commit beside the one that creates the entry: the order of two that run at the same time is not certain."""
    deleted = False
    while not deleted:
        with suppress(KeyMissing):
            await store.commit([Delete(path)])
            deleted = True


WORLDS: dict[str, Callable[[Path], World]] = {"memory": MemoryWorld, "sqlite": SqliteWorld}
