from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.connection.connection import ClientConnection, connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import Misrouted
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.switchboard_rewrite import EVERY_ADDRESS_API, RewritingSession, WireRewrite
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.loopback import add_brokers

pytestmark = pytest.mark.spec("R7")

SETTINGS = ConnectionSettings(connect_timeout_ms=5_000, request_timeout_ms=5_000)
SHOWN = {1: ("proxy", 1), 2: ("proxy", 2)}


def through(rewrite: WireRewrite, ask: Any, identity: Identity | None = None) -> Any:
    """What `ask(connection)` returns through a line with `rewrite`, in front of broker 1 of two."""

    async def run() -> Any:
        async with LoopbackCluster() as cluster, Switchboard() as board:
            await add_brokers(cluster, 1, 2)
            cluster.add_topic("t", 1, 2)
            scripts = cluster.brokers[1].scripts
            scripts[ApiKey.FETCH] = lambda *_: FetchResponse(
                node_endpoints=[FetchResponse.NodeEndpoint(node_id=2, host="inside", port=9)]
            )
            scripts[ApiKey.FIND_COORDINATOR] = lambda _, version: (
                FindCoordinatorResponse(node_id=2, host="inside", port=9)
                if version < 4
                else FindCoordinatorResponse(
                    coordinators=[FindCoordinatorResponse.Coordinator(key="k", node_id=2, host="inside", port=9)]
                )
            )
            line = await board.add_line("1", cluster.brokers[1].address)
            board.rewrite("1", rewrite)
            connection = await connect(Address(*line), SETTINGS, identity)
            try:
                return await ask(connection)
            finally:
                connection.close()

    return asyncio.run(run())


async def addresses(connection: ClientConnection) -> dict[str, list[tuple[int, str, int]]]:
    metadata = await connection.request(MetadataRequest(topics=None))
    described = await connection.request(DescribeClusterRequest())
    found = await connection.request(FindCoordinatorRequest(coordinator_keys=["k"]))
    older = await connection.request(FindCoordinatorRequest(key="k"), version=3)
    fetched = await connection.request(FetchRequest(topics=[]))
    return {
        "Metadata": [(row.node_id, row.host, row.port) for row in metadata.brokers],
        "DescribeCluster": [(row.broker_id, row.host, row.port) for row in described.brokers],
        "FindCoordinator": [(row.node_id, row.host, row.port) for row in (*found.coordinators, older)],
        "Fetch": [(row.node_id, row.host, row.port) for row in fetched.node_endpoints],
    }


def test_addresses_are_replaced_in_the_apis_that_proxies_know() -> None:
    rows = through(WireRewrite(addresses=SHOWN), addresses)
    both = [(1, "proxy", 1), (2, "proxy", 2)]
    assert (rows["Metadata"], rows["DescribeCluster"]) == (both, both)
    assert rows["FindCoordinator"] == [(2, "proxy", 2)] * 2
    assert rows["Fetch"] == [(2, "inside", 9)]
    everywhere = through(WireRewrite(addresses=SHOWN, apis=EVERY_ADDRESS_API), addresses)
    assert everywhere["Fetch"] == [(2, "proxy", 2)]


def test_node_ids_and_the_cluster_id_are_replaced_and_nodes_hidden() -> None:
    rewrite = WireRewrite(node_ids={1: 101, 2: 102}, cluster_id="shown", hidden=frozenset({2}))

    async def ask(connection: ClientConnection) -> tuple[Any, Any]:
        metadata = await connection.request(MetadataRequest(topics=None))
        return metadata, await connection.request(DescribeClusterRequest())

    metadata, described = through(rewrite, ask)
    assert (metadata.cluster_id, described.cluster_id) == ("shown", "shown")
    assert [row.node_id for row in metadata.brokers] == [row.broker_id for row in described.brokers] == [101]
    assert [(row.leader_id, row.replica_nodes) for row in metadata.topics[0].partitions] == [(101, [101]), (-1, [102])]
    assert [row.error_code for row in metadata.topics[0].partitions] == [Error.NONE, Error.LISTENER_NOT_FOUND]


def test_apiversions_is_limited_and_the_identity_does_not_arrive() -> None:
    async def ask(connection: ClientConnection) -> Any:
        return connection.api_ranges.range_of(ApiKey.API_VERSIONS)

    wrong = Identity("cluster-A", 9)
    assert through(WireRewrite(api_versions_max=4), ask, wrong) == (0, 4)
    with pytest.raises(Misrouted):
        through(WireRewrite(), ask, wrong)


def test_a_broker_without_the_version_of_apiversions_is_asked_again() -> None:
    async def run() -> Any:
        async with LoopbackCluster() as cluster, Switchboard() as board:
            await add_brokers(cluster, 1)
            cluster.brokers[1].api_versions_max = cluster.brokers[1].max_versions[ApiKey.API_VERSIONS] = 3
            line = await board.add_line("1", cluster.brokers[1].address)
            board.rewrite("1", WireRewrite(addresses=SHOWN))
            connection = await connect(Address(*line), SETTINGS)
            connection.close()
            return connection.api_ranges.range_of(ApiKey.API_VERSIONS)

    assert asyncio.run(run()) == (0, 3)


def test_frames_may_arrive_in_pieces() -> None:
    session = RewritingSession(WireRewrite())
    request = b"\x00\x00\x00\x0e\x00\x16\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00"
    assert b"".join(session.requests(request[index : index + 1]) for index in range(len(request))) == request
    response = b"\x00\x00\x00\x05\x00\x00\x00\x01x"
    assert session.responses(response[:6]) == b""
    assert session.responses(response[6:]) == response
