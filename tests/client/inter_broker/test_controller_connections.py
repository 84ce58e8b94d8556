from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from signalbox.client.connection.client_security import sasl_login
from signalbox.client.connection.connection_settings import ConnectionSecurity, ConnectionSettings
from signalbox.client.failures import AuthenticationRejected, ClientFailure
from signalbox.client.inter_broker.controller_connections import MAX_CONNECTIONS, ControllerConnections
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.sasl.plain import ListedPasswords, PlainMechanism
from tests.client.connection.test_client_security import authenticate_with
from tests.client.inter_broker.test_controller_channel import Lookup
from tests.client.loopback_cluster import LoopbackCluster
from tests.waiting import until_true

Rejections = list[ClientFailure]


def with_connections(
    test: Callable[[LoopbackCluster, Lookup, ControllerConnections, Rejections], Awaitable[None]],
    settings: ConnectionSettings | None = None,
) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            await cluster.add_broker(1)
            await cluster.add_broker(2)
            lookup, rejections = Lookup(cluster), Rejections()
            connections = ControllerConnections(
                lookup, "cluster-A", settings or ConnectionSettings(), lambda: None, rejections.append
            )
            try:
                await test(cluster, lookup, connections, rejections)
            finally:
                await connections.close()

    asyncio.run(run())


@pytest.mark.spec("R2")
def test_a_connection_carries_the_identity_of_the_controller() -> None:
    async def test(
        cluster: LoopbackCluster, lookup: Lookup, connections: ControllerConnections, rejections: Rejections
    ) -> None:
        await until_true(lambda: connections.take() is not None)
        sent = {(hello.cluster_id, hello.node_id) for hello in cluster.brokers[1].seen(ApiKey.API_VERSIONS)}
        assert sent == {("cluster-A", 1)}

    with_connections(test)


@pytest.mark.spec("R2")
def test_another_node_at_the_address_of_the_controller_is_not_used() -> None:
    async def test(
        cluster: LoopbackCluster, lookup: Lookup, connections: ControllerConnections, rejections: Rejections
    ) -> None:
        cluster.brokers[1].node_id = 7
        await until_true(lambda: connections.take() is None and cluster.brokers[1].rejected > 0)
        assert connections.take() is None

    with_connections(test)


def test_connections_are_added_while_all_are_busy_up_to_the_limit() -> None:
    async def test(
        cluster: LoopbackCluster, lookup: Lookup, connections: ControllerConnections, rejections: Rejections
    ) -> None:
        async def silent(request: object, version: int) -> None:
            await asyncio.Event().wait()

        cluster.brokers[1].scripts[ApiKey.METADATA] = silent
        used = set()
        for _ in range(MAX_CONNECTIONS * 3):
            connection = None
            while connection is None:
                connection = connections.take()
                await asyncio.sleep(0)
            connection.send(MetadataRequest(), 12)
            used.add(id(connection))
        assert len(used) == cluster.brokers[1].connections == MAX_CONNECTIONS

    with_connections(test)


def test_a_lost_connection_is_reopened_without_a_request() -> None:
    async def test(
        cluster: LoopbackCluster, lookup: Lookup, connections: ControllerConnections, rejections: Rejections
    ) -> None:
        connections.open_soon()
        await until_true(lambda: connections.api_ranges is not None)
        await cluster.brokers[1].stop()
        await until_true(lambda: connections.api_ranges is None)
        await cluster.brokers[1].start()
        await until_true(lambda: connections.api_ranges is not None)

    with_connections(test)


def test_only_a_controller_that_was_connected_and_then_refuses_connections_is_reported() -> None:
    async def test(
        cluster: LoopbackCluster, lookup: Lookup, connections: ControllerConnections, rejections: Rejections
    ) -> None:
        unreachable: list[int] = []
        connections.on_unreachable = unreachable.append
        await cluster.brokers[2].stop()
        lookup.controller_id = 2
        connections.open_soon()
        asked = lookup.asked
        await until_true(lambda: lookup.asked > asked + 2)
        assert unreachable == [], "never reached: perhaps it is this broker that is cut off"
        lookup.controller_id = 1
        await until_true(lambda: connections.api_ranges is not None)
        await cluster.brokers[1].stop()
        await until_true(lambda: len(unreachable) >= 2)
        assert set(unreachable) == {1}

    with_connections(test)


def test_a_controller_that_hangs_up_at_once_is_not_hammered() -> None:
    async def test(
        cluster: LoopbackCluster, lookup: Lookup, connections: ControllerConnections, rejections: Rejections
    ) -> None:
        broker = cluster.brokers[1]
        connections.open_soon()
        ends = asyncio.get_running_loop().time() + 0.4
        while asyncio.get_running_loop().time() < ends:
            for writer in tuple(broker._writers):
                if broker.seen(ApiKey.API_VERSIONS):
                    writer.transport.abort()
            await asyncio.sleep(0)
        assert 2 <= broker.connections <= 20

    with_connections(test)


def test_rejected_credentials_are_reported() -> None:
    async def test(
        cluster: LoopbackCluster, lookup: Lookup, connections: ControllerConnections, rejections: Rejections
    ) -> None:
        authenticate_with(cluster.brokers[1], PlainMechanism(ListedPasswords({"broker": "right"})))
        connections.open_soon()
        await until_true(lambda: bool(rejections))
        assert isinstance(rejections[0], AuthenticationRejected)

    security = ConnectionSecurity(sasl=sasl_login("PLAIN", "broker", "wrong"))
    with_connections(test, ConnectionSettings(security=security))
