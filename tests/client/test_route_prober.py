from __future__ import annotations

import asyncio

from signalbox.client.cluster_id_policy import ClusterIdPolicy
from signalbox.client.connection_settings import ConnectionSettings
from signalbox.client.node import Address
from signalbox.client.quarantine import Quarantine
from signalbox.client.rebootstrap import Rebootstrap, RecoveryPolicy
from signalbox.client.rebootstrap_table import Action
from signalbox.client.route_prober import RouteProber
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true


def test_a_route_is_probed_until_it_leads_to_its_node() -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(2)
            route = (1, Address(*broker.address))
            machine = Rebootstrap(RecoveryPolicy(), ClusterIdPolicy(), Quarantine())
            machine.metadata_received(0, "cluster-A", 3, 0, 0)
            began_ms = loop.time() * 1000
            machine.quarantine.note_rejection(route, began_ms)
            machine.quarantine.set_aside(route, began_ms)
            probed: list[bool] = []
            prober = RouteProber(machine, ConnectionSettings(), probed.append)
            now_ms = machine.quarantine.routes[route].probe_at_ms
            prober.probe_due(now_ms - 1)
            prober.probe_due(now_ms)
            prober.probe_due(now_ms)
            await until_true(lambda: probed == [False])
            assert (broker.rejected, machine.quarantine.routes[route].rejections) == (1, 2)
            assert machine.quarantine.routes[route].probe_at_ms > began_ms + 50

            await broker.stop()
            prober.probe_due(machine.quarantine.routes[route].probe_at_ms)
            await until_true(lambda: probed == [False, False])
            assert machine.quarantine.routes[route].rejections == 2, "a rejected connect is no rejected identity"

            broker.node_id = 1
            await broker.start()
            prober.probe_due(machine.quarantine.routes[route].probe_at_ms)
            await until_true(lambda: probed == [False, False, True])
            assert not machine.quarantine.holds(route)
            await prober.close()

    asyncio.run(run())


def test_without_a_known_cluster_a_probe_proves_nothing() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1)
            route = (1, Address(*broker.address))
            machine = Rebootstrap(RecoveryPolicy(), ClusterIdPolicy(), Quarantine())
            machine.metadata_received(0, "cluster-A", 3, 0, 0)
            machine.quarantine.note_rejection(route, 0)
            machine.quarantine.set_aside(route, 0)
            assert machine.no_usable_node(10_000) is Action.START_OVER
            probed: list[bool] = []
            prober = RouteProber(machine, ConnectionSettings(), probed.append)
            prober.probe_due(asyncio.get_running_loop().time() * 1000)
            await until_true(lambda: probed == [False])
            assert machine.quarantine.holds(route)
            await prober.close()

    asyncio.run(run())
