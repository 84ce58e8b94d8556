"""The health of a cluster as the Metadata of one broker shows it: brokers, under-replicated and offline partitions."""

from __future__ import annotations

from dataclasses import dataclass, field

from signalbox.client.admin_apis.cluster_admin import ClusterAdmin, ClusterDescription
from signalbox.client.admin_apis.topic_admin import TopicAdmin
from signalbox.client.cluster.metadata_view import PartitionView, TopicView
from signalbox.common.ids import TopicPartition


@dataclass(slots=True)
class BrokerHealth:
    """A broker, or the id of one that has replicas and is down (`address` is None)."""

    node_id: int
    address: str | None = None
    rack: str | None = None
    leaders: int = 0
    replicas: int = 0
    not_in_sync: int = 0

    @property
    def is_up(self) -> bool:
        return self.address is not None


@dataclass(slots=True)
class ClusterHealth:
    """`under_replicated` partitions have a leader, and fewer replicas in sync than replicas; `offline` ones have no
    leader. `controller_id` is None if the brokers do not tell which node decides: each forwards changes to it."""

    cluster_id: str | None
    controller_id: int | None
    brokers: list[BrokerHealth]
    views: dict[TopicPartition, PartitionView] = field(default_factory=dict)
    under_replicated: list[TopicPartition] = field(default_factory=list)
    offline: list[TopicPartition] = field(default_factory=list)

    @property
    def partitions(self) -> int:
        return len(self.views)

    @property
    def state(self) -> str:
        """One word: `healthy`, `degraded` (records can still be written and read), `offline`."""
        if self.offline:
            return "offline"
        down = any(not broker.is_up for broker in self.brokers)
        return "degraded" if self.under_replicated or down else "healthy"


class HealthAdmin(ClusterAdmin, TopicAdmin):
    """The admin calls that `read_health` makes."""


async def read_health(admin: HealthAdmin) -> ClusterHealth:
    """The health that a broker returns now."""
    description = await admin.describe_cluster(active_controller=True)
    return health_of(description, await admin.describe_topics())


def health_of(description: ClusterDescription, topics: dict[str, TopicView]) -> ClusterHealth:
    """Counts leaders and replicas by broker, and finds the partitions in trouble."""
    brokers = {node.node_id: BrokerHealth(node.node_id, str(node.address), node.rack) for node in description.nodes}
    health = ClusterHealth(description.cluster_id, description.active_controller_id, [])
    for name, topic in topics.items():
        for number, view in topic.partitions.items():
            partition = TopicPartition(name, number)
            health.views[partition] = view
            for broker_id in view.replica_nodes:
                broker = brokers.setdefault(broker_id, BrokerHealth(broker_id))
                broker.replicas += 1
                broker.leaders += broker_id == view.leader_id
                broker.not_in_sync += broker_id not in view.isr_nodes
            if view.leader_id < 0:
                health.offline.append(partition)
            elif len(view.isr_nodes) < len(view.replica_nodes):
                health.under_replicated.append(partition)
    health.brokers = [brokers[broker_id] for broker_id in sorted(brokers)]
    return health
