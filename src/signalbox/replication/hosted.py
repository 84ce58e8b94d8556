"""The partitions that this broker hosts, and what to answer for those that it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.common.limits import MAX_UNHOSTED_REFUSALS
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.partition import NO_LEADER, Partition
from signalbox.replication.ports import ClusterView
from signalbox.replication.refused_sequences import RefusedSequences


class HostedPartitions:
    """Partitions by topic and index, and topic names by id as LeaderAndIsr gave them (it may come before
    UpdateMetadata)."""

    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._names: dict[bytes, str] = {}
        self._per_topic: Counter[str] = Counter()
        self._refused: dict[tuple[str, int], RefusedSequences] = {}  # of partitions that are not here (yet)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def __len__(self) -> int:
        return len(self._partitions)

    def get(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def add(self, partition: Partition) -> None:
        """Host a partition that was not hosted."""
        self._partitions[partition.topic_partition] = partition
        partition.refused = self._refused.pop(partition.topic_partition, partition.refused)
        self._per_topic[partition.topic_partition.topic] += 1

    def name_topic(self, partition: Partition, topic_id: bytes) -> None:
        """The partition's topic has this id."""
        partition.topic_id = topic_id
        if topic_id != ZERO_UUID:
            self._names[topic_id] = partition.topic_partition.topic

    def remove(self, topic_partition: TopicPartition) -> Partition | None:
        """Host it no more."""
        partition = self._partitions.pop(topic_partition, None)
        if partition is not None:
            self._per_topic[topic_partition.topic] -= 1
            if not self._per_topic[topic_partition.topic]:
                del self._per_topic[topic_partition.topic]
                self._names.pop(partition.topic_id, None)
        return partition

    def refused_sequences(self, topic: str, index: int) -> RefusedSequences:
        """What must come again before what follows it: a producer may be here before LeaderAndIsr is."""
        partition = self._partitions.get((topic, index))
        if partition is not None:
            return partition.refused
        found = self._refused.get((topic, index))
        if found is None:
            if len(self._refused) >= MAX_UNHOSTED_REFUSALS:
                del self._refused[next(iter(self._refused))]
            found = self._refused[topic, index] = RefusedSequences()
        return found

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name behind a topic id, as far as this broker knows."""
        return self._names.get(topic_id) or self._cluster.topic_name(topic_id)

    def find(self, topic: str, index: int, topic_id: bytes = ZERO_UUID) -> Partition:
        """The partition. UNKNOWN_TOPIC_OR_PARTITION when the cluster has no such one, NOT_LEADER_OR_FOLLOWER when it
        lives elsewhere, KAFKA_STORAGE_ERROR when its log directory is offline, INCONSISTENT_TOPIC_ID."""
        partition = self._partitions.get((topic, index))
        if partition is None:
            if self._cluster.leader_of(TopicPartition(topic, index)) is None:
                raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
            raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
        if partition.is_offline:
            raise KafkaError(Error.KAFKA_STORAGE_ERROR)
        if topic_id != ZERO_UUID and partition.topic_id not in (ZERO_UUID, topic_id):
            raise KafkaError(Error.INCONSISTENT_TOPIC_ID)
        return partition

    def current_leader(self, topic: str, index: int) -> tuple[int, int]:
        """(leader id, leader epoch) for the CurrentLeader field of errors (KIP-951); -1 for what is not known."""
        partition = self._partitions.get((topic, index))
        if partition is not None and partition.leader_id != NO_LEADER:
            return partition.leader_id, partition.leader_epoch
        return self._cluster.leader_of(TopicPartition(topic, index)) or (NO_LEADER, -1)
