"""The admin client over Signalbox brokers in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from signalbox.client.admin import AdminClient
from signalbox.testing.cluster import Cluster


def over_cluster(cluster: Cluster, test: Callable[[AdminClient], Awaitable[None]]) -> None:
    async def run() -> None:
        async with AdminClient.of(cluster.bootstrap_servers) as admin:
            await test(admin)

    asyncio.run(run())
