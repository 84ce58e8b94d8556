"""The admin client: topics, replicas, configs, groups, offsets, ACLs, users, delegation tokens, the cluster. The
requests may go to any node (KIP-590, F13)."""

from __future__ import annotations

from typing import Any

from signalbox.client.admin_apis.acl_admin import AclAdmin
from signalbox.client.admin_apis.cluster_admin import ClusterAdmin
from signalbox.client.admin_apis.config_admin import ConfigAdmin
from signalbox.client.admin_apis.group_admin import GroupAdmin
from signalbox.client.admin_apis.offset_admin import OffsetAdmin
from signalbox.client.admin_apis.partition_admin import PartitionAdmin
from signalbox.client.admin_apis.token_admin import TokenAdmin
from signalbox.client.admin_apis.topic_admin import TopicAdmin
from signalbox.client.admin_apis.user_admin import UserAdmin
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient


class AdminClient(
    TopicAdmin, PartitionAdmin, ConfigAdmin, GroupAdmin, OffsetAdmin, AclAdmin, UserAdmin, TokenAdmin, ClusterAdmin
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
