"""The worlds the store's contract is shown in: each gives participants of one store, and ways to lose them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import MetadataStore
from signalbox.metadata.store.sqlite import SqliteMetadataStore


class World(Protocol):
    """One store and its participants."""

    def participant(self) -> Any:
        """A new participant, not joined yet."""
        ...

    async def doomed(self) -> MetadataStore:
        """A participant with a session that the others will end for its silence."""
        ...

    def kill(self, store: Any) -> None:
        """Let a participant vanish as a killed process does."""
        ...

    async def close(self) -> None:
        """Close every participant."""
        ...


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
        # A timeout shorter than the heartbeat's interval: to all others this participant is silent.
        store = self.participant(session_timeout_ms=1)
        await store.open_session()
        return store

    def kill(self, store: SqliteMetadataStore) -> None:
        store.abandon()
        self._participants.remove(store)

    async def close(self) -> None:
        for store in self._participants:
            await store.close()


WORLDS: dict[str, Callable[[Path], World]] = {"memory": MemoryWorld, "sqlite": SqliteWorld}
