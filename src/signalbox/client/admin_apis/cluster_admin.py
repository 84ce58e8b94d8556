"""The admin calls about the cluster as a whole: its id, controller and nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from signalbox.client.admin_apis.admin_call import AdminCall
from signalbox.client.connection.node import Address, Node
from signalbox.client.failures import VersionUnsupported
from signalbox.protocol import own_tags
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.messages.metadata import MetadataRequest


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """`controller_id` is the controller in the response: a random broker when the cluster forwards requests (F12).
    `active_controller_id` is the node that decides, if it was requested and the broker says so; None with Apache Kafka
    from 2.8 on."""

    cluster_id: str | None
    controller_id: int
    nodes: list[Node]
    active_controller_id: int | None = None


class ClusterAdmin(AdminCall):
    async def describe_cluster(
        self, *, timeout_ms: float | None = None, active_controller: bool = False
    ) -> ClusterDescription:
        """Cluster id, controller and nodes, as one broker returns them for the listener that this client uses. With
        `active_controller` the node that decides, too, if the principal has DESCRIBE on the cluster."""
        request = DescribeClusterRequest(include_cluster_authorized_operations=active_controller)
        try:
            response = await self._ask(request, timeout_ms)
        except VersionUnsupported:  # before Kafka 2.8
            old = await self._ask(MetadataRequest(topics=[]), timeout_ms)
            nodes = [_node(row, row.node_id) for row in old.brokers]
            return ClusterDescription(old.cluster_id, old.controller_id, nodes, _known(old.controller_id))
        nodes = [_node(row, row.broker_id) for row in response.brokers]
        active = _known(own_tags.active_controller(response))
        return ClusterDescription(response.cluster_id, response.controller_id, nodes, active)


def _known(node_id: int) -> int | None:
    return node_id if node_id >= 0 else None


def _node(row: Any, node_id: int) -> Node:
    return Node(node_id, Address(row.host, row.port), row.rack)
