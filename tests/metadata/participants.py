"""Running a scenario with some participants of one store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from signalbox.metadata.layout import create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries


def run_with_stores(count: int, scenario: Callable[..., Awaitable[Any]]) -> None:
    """Call `scenario(shared, *stores)`; the layout's roots are there."""

    async def run() -> None:
        shared = SharedEntries()
        stores = [MemoryMetadataStore(shared) for _ in range(count)]
        await create_roots(stores[0])
        async with asyncio.timeout(10):
            await scenario(shared, *stores)

    asyncio.run(run())
