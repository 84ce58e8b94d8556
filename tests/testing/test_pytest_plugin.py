"""The fixtures that an installed signalbox gives to any test suite."""

from __future__ import annotations

import asyncio
from importlib.metadata import entry_points

from signalbox.client.admin import AdminClient
from signalbox.testing.cluster import Cluster


def test_the_plugin_is_found_by_its_entry_point() -> None:
    [found] = [entry for entry in entry_points(group="pytest11") if entry.name == "signalbox"]
    assert found.value == "signalbox.testing.pytest_plugin"


def test_three_brokers_shared_by_the_session(signalbox_cluster: Cluster, signalbox_bootstrap: str) -> None:
    async def brokers() -> int:
        async with AdminClient.of(signalbox_bootstrap) as admin:
            return len((await admin.describe_cluster()).nodes)

    assert asyncio.run(brokers()) == 3
    assert signalbox_bootstrap == signalbox_cluster.bootstrap_servers
