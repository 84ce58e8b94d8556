from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.doctor.observations import ClusterView, EndpointObservation, LeftOut
from signalbox.doctor.prober.cluster_questions import Cluster, read_cluster, read_endpoints, with_endpoints
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.protocol.messages.find_coordinator import FindCoordinatorResponse
from signalbox.protocol.messages.metadata import MetadataResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.loopback import add_brokers

pytestmark = pytest.mark.spec("R8")

SETTINGS = ConnectionSettings(connect_timeout_ms=2_000, request_timeout_ms=2_000)


def finds_coordinator(request: Any, version: int) -> Any:
    return FindCoordinatorResponse(node_id=2, host=f"coordinator{request.key_type}", port=9)


def leaks_endpoints(request: Any, version: int) -> Any:
    endpoint = FetchResponse.NodeEndpoint(node_id=2, host="inside", port=9)
    return FetchResponse(responses=[], node_endpoints=[endpoint])


def asked(
    topics: dict[str, tuple[int, ...]],
) -> tuple[Cluster, list[EndpointObservation], list[LeftOut], LoopbackCluster]:
    """What broker 1 of two says, with these topics (leaders by partition)."""

    async def run() -> tuple[Cluster, list[EndpointObservation], list[LeftOut], LoopbackCluster]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2)
            for name, leaders in topics.items():
                cluster.add_topic(name, *leaders)
            scripts = cluster.brokers[1].scripts
            scripts[ApiKey.FIND_COORDINATOR] = finds_coordinator
            scripts[ApiKey.FETCH] = leaks_endpoints
            connection = await connect(Address(*cluster.brokers[1].address), SETTINGS)
            try:
                known = await read_cluster(connection, 1_000)
                endpoints, skipped = await read_endpoints(connection, 1, known)
            finally:
                connection.close()
            return known, endpoints, skipped, cluster

    return asyncio.run(run())


def test_nothing_is_asked_that_would_create_a_topic() -> None:
    known, endpoints, skipped, cluster = asked({})
    assert (known.cluster_id, sorted(known.brokers)) == ("cluster-A", [1, 2])
    assert {row.source for row in endpoints} == {"DescribeCluster"}
    assert not cluster.brokers[1].seen(ApiKey.FIND_COORDINATOR)
    assert all(not request.allow_auto_topic_creation for request in cluster.brokers[1].seen(ApiKey.METADATA))
    assert skipped == [
        LeftOut("FindCoordinator: the topic __consumer_offsets does not exist", unknown=False),
        LeftOut("FindCoordinator: the topic __transaction_state does not exist", unknown=False),
        LeftOut("Fetch: no error with node endpoints can be provoked", unknown=False),
    ]


def test_coordinators_and_provoked_node_endpoints() -> None:
    _, endpoints, skipped, cluster = asked({"__consumer_offsets": (1,), "__transaction_state": (1,), "t": (1, 2)})
    assert skipped == []
    others = {(row.source, row.node_id, row.address) for row in endpoints if row.source != "DescribeCluster"}
    assert others == {
        ("FindCoordinator", 2, "coordinator0:9"),
        ("FindCoordinator", 2, "coordinator1:9"),
        ("Fetch", 2, "inside:9"),
    }
    (request,) = cluster.brokers[1].seen(ApiKey.FETCH)
    (partition,) = request.topics[0].partitions
    assert (partition.partition, partition.partition_max_bytes, request.max_wait_ms) == (1, 1, 0)


def test_only_the_first_nodes_are_kept() -> None:
    async def run() -> Cluster:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            cluster.advertised.update({node_id: (f"h{node_id}\x1b", 1) for node_id in range(2, 500)})
            connection = await connect(Address(*cluster.brokers[1].address), SETTINGS)
            try:
                return await read_cluster(connection, 3)
            finally:
                connection.close()

    known = asyncio.run(run())
    assert (len(known.brokers), known.view.advertised_count) == (3, 499)
    assert known.view.brokers["2"] == "h2?:1"


def test_each_endpoint_and_each_reason_once() -> None:
    row = EndpointObservation(source="Fetch", asked=1, node_id=2, address="x:1")
    rows = [row, replace(row), replace(row, asked=2), replace(row, asked=2, address="y:1")]
    view = with_endpoints(ClusterView(), rows, [LeftOut("a"), LeftOut("a")])
    assert [(one.asked, one.address) for one in view.endpoints] == [(1, "x:1"), (2, "y:1")]
    assert view.skipped == ("a",)


def test_more_endpoints_than_are_compared() -> None:
    rows = [EndpointObservation(source="Fetch", asked=1, node_id=index, address="x:1") for index in range(10_001)]
    view = with_endpoints(ClusterView(), rows, [])
    assert len(view.endpoints) == 10_000
    assert view.skipped == view.unknown == ("10000 of 10001 addresses in other responses were compared",)


def test_thousands_of_addresses_in_a_response_of_one_node() -> None:
    async def run() -> tuple[list[EndpointObservation], list[LeftOut]]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            connection = await connect(Address(*cluster.brokers[1].address), SETTINGS)
            try:
                known = await read_cluster(connection, 1_000)
                cluster.advertised.update(dict.fromkeys(range(2, 2_001), ("x", 1)))
                return await read_endpoints(connection, 1, known)
            finally:
                connection.close()

    found, skipped = asyncio.run(run())
    assert len(found) == 1_100
    assert LeftOut("node 1: 1100 of 2000 addresses in its responses were compared") in skipped


def test_only_so_many_replicas_are_kept() -> None:
    partition = MetadataResponse.MetadataResponsePartition(leader_id=1, replica_nodes=list(range(5_000)))
    topic = MetadataResponse.MetadataResponseTopic(name="t", partitions=[partition])
    answer = MetadataResponse(cluster_id="cluster-A", topics=[topic])

    async def run() -> Cluster:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            connection = await connect(Address(*cluster.brokers[1].address), SETTINGS)
            cluster.brokers[1].scripts[ApiKey.METADATA] = lambda *_: answer
            try:
                return await read_cluster(connection, 3)
            finally:
                connection.close()

    assert asyncio.run(run()).view.replica_nodes == (0, 1, 2)
