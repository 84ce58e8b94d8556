from __future__ import annotations

import asyncio
from math import isfinite
from typing import Any

import pytest

from signalbox.client.cluster import quarantine_probes
from signalbox.client.cluster.quarantine import Quarantine, Route
from signalbox.client.cluster.quarantine_probes import MAX_PROBES, QuarantineProbes
from signalbox.client.cluster.rebootstrap import ClusterIdPolicy, Rebootstrap, RecoveryPolicy
from signalbox.client.cluster.rebootstrap_table import Action
from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.hostile import server, silent
from tests.waiting import until_true


def never_kept(node_id: int, connection: ClientConnection) -> None:
    raise AssertionError("no probe of this test reaches its node")


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
            kept: list[tuple[int, ClientConnection]] = []
            prober = QuarantineProbes(
                rebootstrap, ConnectionSettings(), lambda *connection: kept.append(connection), probed.append
            )
            now_ms = rebootstrap.quarantine.routes[route].probe_at_ms
            prober.start_due_probes(now_ms - 1)
            prober.start_due_probes(now_ms)
            prober.start_due_probes(now_ms)
            await until_true(lambda: probed == [False])
            assert (broker.rejected, rebootstrap.quarantine.routes[route].rejections) == (1, 2)
            assert rebootstrap.quarantine.routes[route].probe_at_ms > began_ms + 25

            await broker.stop()
            prober.start_due_probes(rebootstrap.quarantine.routes[route].probe_at_ms)
            await until_true(lambda: probed == [False, False])
            assert rebootstrap.quarantine.routes[route].rejections == 2, "a rejected connect is no rejected identity"

            broker.node_id = 1
            await broker.start()
            prober.start_due_probes(rebootstrap.quarantine.routes[route].probe_at_ms)
            await until_true(lambda: probed == [False, False, True])
            assert not rebootstrap.quarantine.holds(route)
            [(node_id, connection)] = kept
            assert (node_id, connection.is_open, connection.verified) == (1, True, True)
            connection.close()
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
            prober = QuarantineProbes(rebootstrap, ConnectionSettings(), never_kept, probed.append)
            prober.start_due_probes(asyncio.get_running_loop().time() * 1000)
            await until_true(lambda: probed == [False])
            assert rebootstrap.quarantine.holds(route)
            await prober.close()

    asyncio.run(run())


def quarantined(*routes: Route) -> Rebootstrap:
    """A known cluster whose routes are all quarantined; their probes are due at 25 ms."""
    rebootstrap = Rebootstrap(RecoveryPolicy(), ClusterIdPolicy(), Quarantine())
    rebootstrap.metadata_received(0, "cluster-A", 3, 0, 0)
    for route in routes:
        rebootstrap.quarantine.note_rejection(route, 0)
        rebootstrap.quarantine.add(route, 0)
    return rebootstrap


def test_a_probe_that_fails_unexpectedly_is_repeated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(quarantine_probes, "connect", broken)

    async def run() -> None:
        route = (1, Address("node-1.example", 9092))
        rebootstrap = quarantined(route)
        probed: list[bool] = []
        probes = QuarantineProbes(rebootstrap, ConnectionSettings(), never_kept, probed.append)
        probes.start_due_probes(25)
        await until_true(lambda: probed == [False])
        row = rebootstrap.quarantine.routes[route]
        assert (row.rejections, rebootstrap.quarantine.due_probes(row.probe_at_ms)) == (1, [route])
        assert isfinite(row.probe_at_ms)
        await probes.close()

    asyncio.run(run())
    assert "Probe of node 1 at node-1.example:9092 failed unexpectedly" in caplog.text
    assert "can't start new thread" in caplog.text


def test_nodes_with_one_address_are_probed_one_after_the_other() -> None:
    async def run() -> None:
        async with server(silent) as place:
            address = Address(*place)
            routes = [(node_id, address) for node_id in range(1, 100)]
            rebootstrap = quarantined(*routes)
            probes = QuarantineProbes(rebootstrap, ConnectionSettings(), never_kept, lambda verified: None)
            probes.start_due_probes(25)
            probes.start_due_probes(25)
            assert len(probes.under_way) == 1
            assert rebootstrap.quarantine.due_probes(524) == []
            assert set(rebootstrap.quarantine.due_probes(525)) == set(routes) - probes.under_way
            await probes.close()
            assert not probes.under_way

    asyncio.run(run())


def test_a_client_has_few_probes_under_way() -> None:
    async def run() -> None:
        async with server(silent) as (_, port):
            rebootstrap = quarantined(*[(node_id, Address(f"127.0.0.{node_id}", port)) for node_id in range(1, 100)])
            probes = QuarantineProbes(rebootstrap, ConnectionSettings(), never_kept, lambda verified: None)
            probes.start_due_probes(25)
            assert len(probes.under_way) == MAX_PROBES
            await probes.close()

    asyncio.run(run())


def test_a_client_that_has_started_over_meanwhile_does_not_keep_the_connection_of_a_probe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1)
            rebootstrap = quarantined((1, Address(*broker.address)))
            opened: list[ClientConnection] = []

            async def connect_and_start_over(*arguments: Any) -> ClientConnection:
                opened.append(await connect(*arguments))
                assert rebootstrap.no_usable_node(10_000) is Action.START_OVER
                return opened[0]

            monkeypatch.setattr(quarantine_probes, "connect", connect_and_start_over)
            kept: list[int] = []
            ended: list[bool] = []
            probes = QuarantineProbes(
                rebootstrap, ConnectionSettings(), lambda node_id, connection: kept.append(node_id), ended.append
            )
            probes.start_due_probes(25)
            await until_true(lambda: ended == [True])
            assert (kept, opened[0].is_open) == ([], False)
            await probes.close()

    asyncio.run(run())
