"""The cluster as a whole: DescribeCluster, or Metadata where a broker does not support it yet."""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.client.admin_apis.admin_call import AdminCall
from signalbox.client.connection.node import Address, Node
from signalbox.client.failures import VersionUnsupported
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.messages.metadata import MetadataRequest


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """`controller_id` is the controller in the response: a random broker when the cluster forwards requests (F12)."""

    cluster_id: str | None
    controller_id: int
    nodes: list[Node]


class ClusterAdmin(AdminCall):
    async def describe_cluster(self, *, timeout_ms: float | None = None) -> ClusterDescription:
        """Cluster id, controller and nodes, as one broker returns them for the listener that this client uses."""
        try:
            response = await self._ask(DescribeClusterRequest(), timeout_ms)
        except VersionUnsupported:
            old = await self._ask(MetadataRequest(topics=[]), timeout_ms)
            nodes = [Node(row.node_id, Address(row.host, row.port), row.rack) for row in old.brokers]
            return ClusterDescription(old.cluster_id, old.controller_id, nodes)
        nodes = [Node(row.broker_id, Address(row.host, row.port), row.rack) for row in response.brokers]
        return ClusterDescription(response.cluster_id, response.controller_id, nodes)
