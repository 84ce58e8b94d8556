"""The admin client as a whole."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
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


def table_of_the_page() -> dict[str, list[str]]:
    """Kafka's methods of each row of docs/client.md, with ours."""
    page = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
    rows = re.findall(r"^\| (`[a-z]\w+`.*?) \| (.*) \|$", page, re.MULTILINE)
    return {
        kafka: re.findall(r"`([\w.]+)`", ours) for kafka, ours in rows if re.match(r"`[a-z]+[A-Z]|`metrics`", kafka)
    }


@pytest.mark.spec("R10")
def test_the_page_lists_every_method_and_only_those() -> None:
    listed = {name for ours in table_of_the_page().values() for name in ours}
    methods = {name for name in dir(AdminClient) if not name.startswith("_")} - {"of"}
    assert listed - {"client.metrics"} == methods
    assert callable(ClusterClient.metrics)
