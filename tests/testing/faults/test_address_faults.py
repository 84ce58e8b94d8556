"""Addresses that lead elsewhere while the fault is applied, and home afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from signalbox.client.connection.connection import connect
from signalbox.client.connection.node import Address
from signalbox.client.failures import ConnectFailed
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.faults import BalanceAddress, Fault, RefuseConnections, SendElsewhere, SwapAddresses
from signalbox.testing.faults.fault import address_line
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from signalbox.testing.switchboard_line import Target
from tests.testing.faults.probes import PATIENT, accepts, node_at

pytestmark = pytest.mark.spec("R7")


def homes(cluster: KafkaCluster) -> list[list[int]]:
    return [node_at(cluster, cluster.advertised(node)) for node in cluster.node_ids]


def bootstrap(cluster: KafkaCluster, node: int) -> Target:
    return cluster.switchboard.line(address_line(node, bootstrap=True)).address


@pytest.mark.parametrize(
    ("fault", "nodes"),
    [(SwapAddresses(1, 3), [[3], [2], [1]]), (SendElsewhere(2, 3), [[1], [3], [3]])],
)
def test_the_advertised_address_leads_to_another_broker(
    kafka_cluster: KafkaCluster, fault: Fault, nodes: list[list[int]]
) -> None:
    with kafka_cluster.faults(fault):
        assert homes(kafka_cluster) == nodes
        assert node_at(kafka_cluster, bootstrap(kafka_cluster, 2)) == [2]
    assert homes(kafka_cluster) == [[1], [2], [3]]


def test_the_bootstrap_address_alone(kafka_cluster: KafkaCluster) -> None:
    with kafka_cluster.faults(SwapAddresses(1, 2, bootstrap=True)):
        assert node_at(kafka_cluster, bootstrap(kafka_cluster, 1)) == [2]
        assert homes(kafka_cluster) == [[1], [2], [3]]


def test_the_address_leads_to_another_cluster(
    kafka_cluster: KafkaCluster, kafka_cluster_factory: Callable[..., KafkaCluster]
) -> None:
    other = kafka_cluster_factory(brokers=1)
    with kafka_cluster.faults(SendElsewhere(3, other.target(1))):
        assert accepts(kafka_cluster.advertised(3), other.cluster_id, 1)
        assert node_at(kafka_cluster, kafka_cluster.advertised(3)) == []


def test_connections_are_balanced(kafka_cluster: KafkaCluster) -> None:
    cluster_id = kafka_cluster.cluster_id
    with kafka_cluster.faults(BalanceAddress(1, (1, 2))):
        reached = [accepts(kafka_cluster.advertised(1), cluster_id, 1) for _ in range(4)]
    assert reached == [True, False, True, False]


def test_nothing_listens_until_the_fault_is_taken_back(kafka_cluster: KafkaCluster) -> None:
    applied = kafka_cluster.faults(RefuseConnections(1))
    with pytest.raises(ConnectFailed):
        node_at(kafka_cluster, kafka_cluster.advertised(1))
    applied.remove()
    applied.remove()
    assert node_at(kafka_cluster, kafka_cluster.advertised(1)) == [1]


@pytest.mark.parametrize("cut", [True, False])
def test_open_connections_are_cut_unless_they_are_to_stay(kafka_cluster: KafkaCluster, cut: bool) -> None:
    async def survives() -> bool:
        connection = await connect(Address(*kafka_cluster.advertised(1)), PATIENT)
        applied = kafka_cluster.faults(SwapAddresses(1, 2, cut=cut))
        try:
            await connection.request(MetadataRequest(topics=[]))
        except Exception:
            return False
        finally:
            connection.close()
            applied.remove()
        return True

    assert asyncio.run(survives()) is not cut
