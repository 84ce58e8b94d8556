"""What all brokers of the in-memory cluster know: the controller's table of partitions, and the configs of topics."""

from __future__ import annotations

from dataclasses import dataclass, field

from signalbox.common.ids import TopicPartition
from signalbox.metadata.cache import MetadataCache
from signalbox.replication.ports import TopicSettings
from signalbox.storage.log_config import LogConfig

TOPIC = "flights"
TOPIC_ID = bytes(range(16))


@dataclass
class PartitionRow:
    """The controller's state of one partition."""

    leader: int
    isr: list[int]
    replicas: list[int]
    leader_epoch: int = 0
    partition_epoch: int = 0
    unclean_epoch: int = -1


@dataclass
class MemoryView(MetadataCache):
    """The metadata cache of all brokers: the controller's table."""

    alive: set[int]
    rows: dict[TopicPartition, PartitionRow] = field(default_factory=dict)

    def is_alive(self, broker_id: int) -> bool:
        return broker_id in self.alive

    def topic_name(self, topic_id: bytes) -> str | None:
        return TOPIC if topic_id == TOPIC_ID and self.rows else None

    def leader_of(self, topic_partition: TopicPartition) -> tuple[int, int] | None:
        row = self.rows.get(topic_partition)
        return None if row is None else (row.leader, row.leader_epoch)


@dataclass
class MemoryConfigs:
    """The `TopicConfigs` of all brokers."""

    log: LogConfig = field(default_factory=LogConfig)
    topic: TopicSettings = field(default_factory=TopicSettings)

    def log_config(self, topic: str) -> LogConfig:
        return self.log

    def settings(self, topic: str) -> TopicSettings:
        return self.topic
