"""The health of a cluster, from its Metadata."""

from __future__ import annotations

from signalbox.cli.admin.cluster_health import BrokerHealth, health_of
from signalbox.client.admin import ClusterDescription
from signalbox.client.cluster.metadata_view import PartitionView, TopicView
from signalbox.client.connection.node import Address, Node
from signalbox.common.ids import TopicPartition

NODES = [Node(1, Address("a", 1), "r1"), Node(2, Address("b", 2), None)]


def topics(*partitions: tuple[int, list[int], list[int]]) -> dict[str, TopicView]:
    """Topic `t`; leader, replicas and replicas in sync of each partition."""
    views = {
        number: PartitionView(leader, 0, replicas, in_sync, [])
        for number, (leader, replicas, in_sync) in enumerate(partitions)
    }
    return {"t": TopicView("t", partitions=views)}


def test_a_healthy_cluster() -> None:
    health = health_of(ClusterDescription("c", 1, NODES), topics((1, [1, 2], [1, 2]), (2, [2], [2])))
    assert (health.state, health.partitions) == ("healthy", 2)
    assert health.brokers == [BrokerHealth(1, "a:1", "r1", 1, 1, 0), BrokerHealth(2, "b:2", None, 1, 2, 0)]


def test_a_broker_that_is_down_leaves_partitions_under_replicated() -> None:
    health = health_of(ClusterDescription("c", 1, NODES), topics((1, [3, 1], [1]), (2, [2], [2])))
    assert (health.state, health.under_replicated, health.offline) == ("degraded", [TopicPartition("t", 0)], [])
    assert health.brokers[2] == BrokerHealth(3, None, None, 0, 1, 1)
    assert not health.brokers[2].is_up


def test_a_partition_without_a_leader_is_offline() -> None:
    health = health_of(ClusterDescription("c", 1, NODES), topics((-1, [3], [3])))
    assert (health.state, health.under_replicated, health.offline) == ("offline", [], [TopicPartition("t", 0)])


def test_the_controller_is_the_active_one_or_none() -> None:
    assert health_of(ClusterDescription("c", 1, NODES), {}).controller_id is None
    assert health_of(ClusterDescription("c", 1, NODES, 2), {}).controller_id == 2


def test_an_empty_cluster_is_healthy() -> None:
    assert health_of(ClusterDescription("c", 1, NODES), {}).state == "healthy"
