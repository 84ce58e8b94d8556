"""A client's view of a cluster: nodes, topics, leaders. Built from Metadata responses, corrected by leader hints.

A response replaces the nodes and the topics that it lists; other topics stay. Within one topic id a partition's older
leader epoch never overwrites a newer one (KIP-320), so a broker with old metadata cannot revert the view.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from typing import Any

from signalbox.client.connection.node import Address, Node
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.protocol.error_table import Error


@dataclass(frozen=True, slots=True)
class PartitionView:
    leader_id: int
    leader_epoch: int
    replica_nodes: list[int]
    isr_nodes: list[int]
    offline_replicas: list[int]
    error_code: int = 0


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    error_code: int = 0
    partitions: dict[int, PartitionView] = field(default_factory=dict)


class MetadataView:
    """The view of one client. Empty while bootstrapping."""

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.controller_id = -1
        self.nodes: dict[int, Node] = {}
        self.topics: dict[str, TopicView] = {}

    def forget(self) -> None:
        """Clear the view (a rebootstrap)."""
        self.cluster_id = None
        self.controller_id = -1
        self.nodes = {}
        self.topics = {}

    def adopt(self, response: Any) -> None:
        """Apply a MetadataResponse that was accepted."""
        self.cluster_id = response.cluster_id
        self.controller_id = response.controller_id
        self.nodes = {row.node_id: Node(row.node_id, Address(row.host, row.port), row.rack) for row in response.brokers}
        for topic in response.topics:
            if topic.name is None:
                continue
            self.topics[topic.name] = self._updated_topic(topic)

    def retain(self, names: Set[str], requested: Set[str]) -> None:
        """A response for all topics listed `names`: others do not exist. Those of `requested` stay, with that error."""
        missing = {name: TopicView(name, error_code=Error.UNKNOWN_TOPIC_OR_PARTITION) for name in requested - names}
        self.topics = {name: topic for name, topic in self.topics.items() if name in names} | missing

    def _updated_topic(self, topic: Any) -> TopicView:
        current = self.topics.get(topic.name)
        same_topic = current is not None and current.topic_id == topic.topic_id
        partitions = {}
        for row in topic.partitions:
            fresh = PartitionView(
                row.leader_id,
                row.leader_epoch,
                list(row.replica_nodes),
                list(row.isr_nodes),
                list(row.offline_replicas),
                row.error_code,
            )
            if same_topic and current is not None:
                old = current.partitions.get(row.partition_index)
                if old is not None and 0 <= fresh.leader_epoch < old.leader_epoch:
                    fresh = old
            partitions[row.partition_index] = fresh
        return TopicView(topic.name, topic.topic_id, topic.is_internal, topic.error_code, partitions)

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The node id of the leader, or None when it is unknown, absent or not a known node."""
        topic = self.topics.get(partition.topic)
        row = topic.partitions.get(partition.partition) if topic is not None else None
        return row.leader_id if row is not None and row.leader_id in self.nodes else None

    def name_of(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id, None when it is unknown."""
        for topic in self.topics.values():
            if topic.topic_id == topic_id:
                return topic.name
        return None

    def hint_leader(
        self, partition: TopicPartition, leader_id: int, leader_epoch: int, endpoints: Iterable[Any]
    ) -> bool:
        """Apply the leader in an error response (KIP-951). True when its epoch is newer and the leader is known."""
        topic = self.topics.get(partition.topic)
        row = topic.partitions.get(partition.partition) if topic is not None else None
        if topic is None or row is None or leader_id < 0 or leader_epoch <= row.leader_epoch:
            return False
        for end in endpoints:
            if end.node_id == leader_id and leader_id not in self.nodes:
                self.nodes[leader_id] = Node(leader_id, Address(end.host, end.port), end.rack)
        if leader_id not in self.nodes:
            return False
        changed = replace(row, leader_id=leader_id, leader_epoch=leader_epoch, error_code=int(Error.NONE))
        self.topics[partition.topic] = replace(topic, partitions={**topic.partitions, partition.partition: changed})
        return True
