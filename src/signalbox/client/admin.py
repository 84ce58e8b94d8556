"""The admin client: topics, replicas, configs, groups, offsets, transactions, quotas, log directories, features, ACLs,
users, delegation tokens, the cluster. Changes of metadata may be sent to any node (KIP-590, F13)."""

from __future__ import annotations

from typing import Any

from signalbox.client.admin_apis.acl_admin import AclAdmin
from signalbox.client.admin_apis.cluster_admin import ClusterAdmin, ClusterDescription
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

__all__ = ["AdminClient", "ClusterDescription"]


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
    ClusterAdmin,
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
