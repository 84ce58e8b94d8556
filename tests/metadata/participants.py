"""Runs a scenario with several sessions of one metadata store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries


def run_with_stores(count: int, scenario: Callable[..., Awaitable[Any]]) -> None:
    """Calls `scenario(shared, *stores)` with `count` stores over the same entries. The layout's roots exist."""

    async def run() -> None:
        shared = SharedEntries()
        stores = [MemoryMetadataStore(shared) for _ in range(count)]
        await create_roots(stores[0])
        async with asyncio.timeout(60):
            await scenario(shared, *stores)

    asyncio.run(run())
