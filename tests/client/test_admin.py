"""The admin client as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import DeadlinePassed
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster


def with_admin(test: Callable[[LoopbackCluster, AdminClient], Awaitable[None]], size: int = 1, **fields: Any) -> None:
    async def over_client(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await test(cluster, AdminClient(client))

    with_client(over_client, size, **fields)


def test_without_a_broker_the_call_ends_at_its_deadline() -> None:
    async def run() -> None:
        async with AdminClient.of("127.0.0.1:1", api_timeout_ms=150) as admin:
            with pytest.raises(DeadlinePassed):
                await admin.list_topics()
            with pytest.raises(DeadlinePassed):
                await admin.create_topic("a")

    asyncio.run(run())
