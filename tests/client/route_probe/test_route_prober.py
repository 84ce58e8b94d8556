from __future__ import annotations

import asyncio

from signalbox.client.cluster.quarantine import Quarantine
from signalbox.client.cluster.rebootstrap import ClusterIdPolicy, Rebootstrap, RecoveryPolicy
from signalbox.client.cluster.rebootstrap_table import Action
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.client.route_probe.route_prober import RouteProber
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true


def test_a_route_is_probed_until_it_leads_to_its_node() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(2)
            route = (1, Address(*broker.address))
            rebootstrap = Rebootstrap(RecoveryPolicy(), ClusterIdPolicy(), Quarantine())
            rebootstrap.metadata_received(0, "cluster-A", 3, 0, 0)
            began_ms = loop.time() * 1000
            rebootstrap.quarantine.note_rejection(route, began_ms)
            rebootstrap.quarantine.add(route, began_ms)
            probed: list[bool] = []
            prober = RouteProber(rebootstrap, ConnectionSettings(), probed.append)
            now_ms = rebootstrap.quarantine.routes[route].probe_at_ms
            prober.start_due_probes(now_ms - 1)
            prober.start_due_probes(now_ms)
            prober.start_due_probes(now_ms)
            await until_true(lambda: probed == [False])
            assert (broker.rejected, rebootstrap.quarantine.routes[route].rejections) == (1, 2)
            assert rebootstrap.quarantine.routes[route].probe_at_ms > began_ms + 50

            await broker.stop()
            prober.start_due_probes(rebootstrap.quarantine.routes[route].probe_at_ms)
            await until_true(lambda: probed == [False, False])
            assert rebootstrap.quarantine.routes[route].rejections == 2, "a rejected connect is no rejected identity"

            broker.node_id = 1
            await broker.start()
            prober.start_due_probes(rebootstrap.quarantine.routes[route].probe_at_ms)
            await until_true(lambda: probed == [False, False, True])
            assert not rebootstrap.quarantine.holds(route)
            await prober.close()

    asyncio.run(run())


def test_without_a_known_cluster_a_probe_proves_nothing() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1)
            route = (1, Address(*broker.address))
            rebootstrap = Rebootstrap(RecoveryPolicy(), ClusterIdPolicy(), Quarantine())
            rebootstrap.metadata_received(0, "cluster-A", 3, 0, 0)
            rebootstrap.quarantine.note_rejection(route, 0)
            rebootstrap.quarantine.add(route, 0)
            assert rebootstrap.no_usable_node(10_000) is Action.START_OVER
            probed: list[bool] = []
            prober = RouteProber(rebootstrap, ConnectionSettings(), probed.append)
            prober.start_due_probes(asyncio.get_running_loop().time() * 1000)
            await until_true(lambda: probed == [False])
            assert rebootstrap.quarantine.holds(route)
            await prober.close()

    asyncio.run(run())
