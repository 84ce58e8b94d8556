"""The admin client: topics, replicas, configs, groups, offsets, transactions, quotas, log directories, features, ACLs,
users, delegation tokens, the cluster. Changes of metadata may be sent to any node (KIP-590, F13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from signalbox.client.admin_apis.acl_admin import AclAdmin
from signalbox.client.admin_apis.config_admin import ConfigAdmin
from signalbox.client.admin_apis.feature_admin import FeatureAdmin
from signalbox.client.admin_apis.group_member_admin import GroupMemberAdmin
from signalbox.client.admin_apis.log_dir_admin import LogDirAdmin
from signalbox.client.admin_apis.partition_admin import PartitionAdmin
from signalbox.client.admin_apis.quota_admin import QuotaAdmin
from signalbox.client.admin_apis.token_admin import TokenAdmin
from signalbox.client.admin_apis.topic_admin import TopicAdmin
from signalbox.client.admin_apis.transaction_admin import TransactionAdmin
from signalbox.client.admin_apis.user_admin import UserAdmin
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
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


class AdminClient(
    TopicAdmin,
    PartitionAdmin,
    ConfigAdmin,
    GroupMemberAdmin,
    TransactionAdmin,
    QuotaAdmin,
    LogDirAdmin,
    FeatureAdmin,
    AclAdmin,
    UserAdmin,
    TokenAdmin,
):
    """`async with AdminClient.of("host:9092") as admin:`; with an existing client: `AdminClient(client)`."""

    @classmethod
    def of(cls, bootstrap_servers: str, **fields: Any) -> AdminClient:
        """A client with defaults; `fields` are fields of ClientSettings."""
        return cls(ClusterClient(ClientSettings.of(bootstrap_servers, **fields)))

    async def __aenter__(self) -> AdminClient:
        self.client.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

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
