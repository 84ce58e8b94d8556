from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity
from signalbox.client.route_probe.route_evidence import Grade, RouteEvidence, RouteStatus
from signalbox.client.routes import RouteProbe, probe_cluster
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_configs import DescribeConfigsResponse
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import crossed_cluster
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.loopback import describes_own_configs

pytestmark = pytest.mark.spec("R8")

SETTINGS = ConnectionSettings(connect_timeout_ms=1_000, request_timeout_ms=1_000)


def with_cluster(test: Callable[[LoopbackCluster, Switchboard], Awaitable[None]]) -> None:
    async def run() -> None:
        async with crossed_cluster(3) as (cluster, board):
            for broker in cluster.brokers.values():
                broker.scripts[ApiKey.DESCRIBE_CONFIGS] = describes_own_configs(broker)
            await test(cluster, board)

    asyncio.run(run())


def statuses(found: list[RouteEvidence]) -> list[tuple[int, RouteStatus, Grade, int | None]]:
    return [(row.expected.node_id, row.status, row.grade, row.answering_node) for row in found if row.expected]


def test_every_route_of_a_healthy_cluster_is_verified() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard) -> None:
        found = await probe_cluster(Address(*cluster.advertised[1]), SETTINGS)
        assert statuses(found) == [(n, RouteStatus.ROUTE_OK, Grade.VERIFIED, n) for n in (1, 2, 3)]
        assert all(row.api_versions_max == 5 and row.duration_ms > 0 for row in found)

    with_cluster(test)


def test_crossed_routes_are_detected_and_the_true_nodes_named() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard) -> None:
        board.swap("2", "3")
        found = await probe_cluster(Address(*cluster.advertised[1]), SETTINGS)
        assert statuses(found) == [
            (1, RouteStatus.ROUTE_OK, Grade.VERIFIED, 1),
            (2, RouteStatus.WRONG_NODE, Grade.SEARCHED, 3),
            (3, RouteStatus.WRONG_NODE, Grade.SEARCHED, 2),
        ]
        assert found[1].text == "node 3 answers, expected was node 2"

    with_cluster(test)


def test_an_address_that_leads_to_another_cluster() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard) -> None:
        async with LoopbackCluster("cluster-B") as other:
            broker = await other.add_broker(2)
            broker.scripts[ApiKey.DESCRIBE_CONFIGS] = describes_own_configs(broker)
            board.rewire("2", broker.address)
            found = await probe_cluster(Address(*cluster.advertised[1]), SETTINGS)
        assert statuses(found)[1] == (2, RouteStatus.WRONG_CLUSTER, Grade.SEARCHED, 2)
        assert "cluster cluster-B answers" in found[1].text

    with_cluster(test)


def test_old_brokers_are_identified_by_their_broker_configs() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard) -> None:
        for broker in cluster.brokers.values():
            broker.api_versions_max = 3
        board.swap("2", "3")
        found = await probe_cluster(Address(*cluster.advertised[1]), SETTINGS)
        assert statuses(found) == [
            (1, RouteStatus.ROUTE_OK, Grade.CONFIGS, 1),
            (2, RouteStatus.WRONG_NODE, Grade.CONFIGS, 3),
            (3, RouteStatus.WRONG_NODE, Grade.CONFIGS, 2),
        ]

    with_cluster(test)


def test_a_server_that_takes_any_identity_proves_nothing_by_taking_ours() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard) -> None:
        for broker in cluster.brokers.values():
            broker.compares_identity = False
        found = await probe_cluster(Address(*cluster.advertised[1]), SETTINGS)
        assert [row.grade for row in found] == [Grade.CONFIGS] * 3

    with_cluster(test)


def test_a_broker_that_cannot_be_identified_stays_unverified() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard) -> None:
        broker = cluster.brokers[1]
        broker.api_versions_max = 3

        def not_allowed(request: Any, version: int) -> Any:
            row = DescribeConfigsResponse.DescribeConfigsResult(error_code=Error.CLUSTER_AUTHORIZATION_FAILED)
            return DescribeConfigsResponse(results=[row])

        broker.scripts[ApiKey.DESCRIBE_CONFIGS] = not_allowed
        (found,) = await RouteProbe(SETTINGS).probe(Address(*broker.address), Identity("cluster-A", 1))
        assert (found.status, found.grade) == (RouteStatus.ROUTE_UNVERIFIED, Grade.CLUSTER_ONLY)

    with_cluster(test)


def test_addresses_without_a_response() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard) -> None:
        probe = RouteProbe(SETTINGS)
        await board.refuse_connections("2")
        (rejected,) = await probe.probe(Address(*cluster.advertised[2]))
        assert (rejected.status, rejected.answering_node) == (RouteStatus.REJECTED, None)
        (unresolved,) = await probe.probe(Address("no-such-host.invalid", 9092))
        assert unresolved.status is RouteStatus.UNRESOLVED

    with_cluster(test)


def test_a_tls_port_is_recognized() -> None:
    async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(4)
        writer.write(b"\x15\x03\x03\x00\x02\x02\x46")
        await writer.drain()
        writer.close()

    async def test(cluster: LoopbackCluster, board: Switchboard) -> None:
        server = await asyncio.start_server(alert, "127.0.0.1", 0)
        (found,) = await RouteProbe(SETTINGS).probe(Address(*server.sockets[0].getsockname()[:2]))
        server.close()
        assert found.status is RouteStatus.TLS
        assert "security.protocol" in found.text

    with_cluster(test)
