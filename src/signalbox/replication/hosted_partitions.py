"""The partitions that this broker hosts, and the errors for those that it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.common.limits import MAX_UNHOSTED_REJECTIONS
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.partition import NO_LEADER, Partition
from signalbox.replication.produce.rejected_sequences import RejectedSequences
from signalbox.replication.topic_stats import TopicStats, total


class HostedPartitions:
    """Partitions by topic and index, and topic names by id from LeaderAndIsr (which may arrive before
    UpdateMetadata)."""

    def __init__(self, cluster: MetadataCache) -> None:
        self._cluster = cluster
        self._partitions: dict[tuple[str, int], Partition] = {}
        self._names: dict[bytes, str] = {}
        self._per_topic: Counter[str] = Counter()
        self._stats: dict[str, TopicStats] = {}
        self.other_stats = TopicStats()  # of topics that are not hosted (any more)
        self._rejected: dict[tuple[str, int], RejectedSequences] = {}  # of partitions that are not hosted (yet)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def __len__(self) -> int:
        return len(self._partitions)

    def get(self, topic: str, index: int) -> Partition | None:
        return self._partitions.get((topic, index))

    def add(self, partition: Partition) -> None:
        """Add a partition that was not hosted."""
        self._partitions[partition.topic_partition] = partition
        partition.rejected = self._rejected.pop(partition.topic_partition, partition.rejected)
        self._per_topic[partition.topic_partition.topic] += 1
        partition.stats = self._stats.setdefault(partition.topic_partition.topic, partition.stats)

    def set_topic_id(self, partition: Partition, topic_id: bytes) -> None:
        """Set the id of the partition's topic."""
        partition.topic_id = topic_id
        if topic_id != ZERO_UUID:
            self._names[topic_id] = partition.topic_partition.topic

    def remove(self, topic_partition: TopicPartition) -> Partition | None:
        """Remove the partition, if it is hosted, and return it."""
        partition = self._partitions.pop(topic_partition, None)
        if partition is not None:
            self._per_topic[topic_partition.topic] -= 1
            if not self._per_topic[topic_partition.topic]:
                del self._per_topic[topic_partition.topic]
                self._names.pop(partition.topic_id, None)
                self.other_stats.add(self._stats.pop(topic_partition.topic))
                partition.stats = self.other_stats  # waiting requests will end with an error
        return partition

    @property
    def topic_stats(self) -> Mapping[str, TopicStats]:
        """Stats by topic, for topics with a hosted partition."""
        return self._stats

    def stats_of(self, topic: str) -> TopicStats:
        """The stats in which to count requests for a topic."""
        return self._stats.get(topic, self.other_stats)

    def total(self, field: str) -> int:
        """One count over all topics, since the start."""
        return total(field, (self.other_stats, *self._stats.values()))

    def rejected_sequences(self, topic: str, index: int) -> RejectedSequences:
        """The partition's rejected batches; also if not hosted: a Produce may arrive before LeaderAndIsr."""
        partition = self._partitions.get((topic, index))
        if partition is not None:
            return partition.rejected
        rejected = self._rejected.get((topic, index))
        if rejected is None:
            if len(self._rejected) >= MAX_UNHOSTED_REJECTIONS:
                del self._rejected[next(iter(self._rejected))]
            rejected = self._rejected[topic, index] = RejectedSequences()
        return rejected

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of a topic id; None if this broker does not know it."""
        return self._names.get(topic_id) or self._cluster.topic_name(topic_id)

    def find(self, topic: str, index: int, topic_id: bytes = ZERO_UUID) -> Partition:
        """The partition. UNKNOWN_TOPIC_OR_PARTITION if the cluster does not have it, NOT_LEADER_OR_FOLLOWER if other
        brokers host it, KAFKA_STORAGE_ERROR if its log directory is offline, INCONSISTENT_TOPIC_ID."""
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
        """(leader id, leader epoch) for the CurrentLeader field of errors (KIP-951); -1 if unknown."""
        partition = self._partitions.get((topic, index))
        if partition is not None and partition.leader_id != NO_LEADER:
            return partition.leader_id, partition.leader_epoch
        return self._cluster.leader_of(TopicPartition(topic, index)) or (NO_LEADER, -1)
