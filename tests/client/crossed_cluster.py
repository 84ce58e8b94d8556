"""A loopback cluster whose brokers are advertised through a switchboard, and clients with short timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection.node import parse_bootstrap_servers
from signalbox.testing.switchboard import Switchboard
from tests.client.loopback_cluster import LoopbackCluster


@asynccontextmanager
async def crossed_cluster(
    size: int = 3, cluster_id: str = "cluster-A"
) -> AsyncIterator[tuple[LoopbackCluster, Switchboard]]:
    """Brokers 1..size. A broker's switchboard line is named by its node id; Metadata returns the line's address."""
    async with LoopbackCluster(cluster_id) as cluster, Switchboard() as board:
        for node_id in range(1, size + 1):
            broker = await cluster.add_broker(node_id)
            cluster.advertised[node_id] = await board.add_line(str(node_id), broker.address)
        yield cluster, board


def hurried(bootstrap: str, **fields: Any) -> ClientSettings:
    """Settings with short timeouts, so that tests of timeouts are short."""
    given = {"request_timeout_ms": 30_000, "api_timeout_ms": 60_000, "retry_backoff_ms": 20, **fields}
    return ClientSettings(bootstrap=parse_bootstrap_servers(bootstrap), **given)


def with_client(
    test: Callable[[LoopbackCluster, Switchboard, ClusterClient], Awaitable[None]], size: int = 3, **fields: Any
) -> None:
    """Runs `test` with a crossed cluster and a client bootstrapped from the brokers' own addresses."""

    async def run() -> None:
        async with crossed_cluster(size) as (cluster, board):
            for index in range(size):
                cluster.add_topic(f"t{index + 1}", index + 1)
            addresses = [row.address for row in cluster.brokers.values()]
            if fields.pop("seeds_through_board", False):
                addresses = list(cluster.advertised.values())
            seeds = ",".join(f"{host}:{port}" for host, port in addresses)
            async with ClusterClient(hurried(seeds, **fields)) as client:
                await test(cluster, board, client)

    asyncio.run(run())
