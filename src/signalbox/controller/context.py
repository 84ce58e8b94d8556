"""The state of the active controller: the store's content as one value that decisions read and never change.

`replay.py` computes the next context from records. Broker epochs, controlled shutdowns under way, replicas in failed
log directories and replicas still to be deleted live here only; a failover collects them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.controller.store.topic_corruption import TopicCorruption
from signalbox.metadata.broker_history import BrokerHistory
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.entries.feature_levels import NO_FEATURES, FinalizedFeatures, LevelRanges
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.entries.producer_id_block import ProducerIdBlock
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.metadata.entries.topic_assignment import ReplicaAssignment, TopicAssignment
from signalbox.security.acl import AccessControlEntry, ResourcePattern
from signalbox.security.delegation_token import DelegationToken

UNCLEAN_KEY = "unclean.leader.election.enable"
BROKER_DEFAULT_ENTITY = "brokers/<default>"


@dataclass(frozen=True, slots=True)
class LiveBroker:
    """A registered broker. `broker_epoch` is the creation id of its registration."""

    registration: BrokerRegistration
    broker_epoch: int


@dataclass(frozen=True, slots=True, order=True)
class LogEnd:
    """The end of a replica's log, as its broker reports it: the leader epoch of its last batch (-1: it is empty) and
    its end offset; NO_LOG if the broker has no log of the partition. Of two logs the longer is the greater."""

    last_leader_epoch: int
    end_offset: int


NO_LOG = LogEnd(-1, -1)


@dataclass(frozen=True, slots=True)
class ControlledTopic:
    """A topic as it is stored. Partitions without a state never had a leader.

    `has_partitions_entry` and `bare_partitions` only matter for topics that another program created incompletely: the
    entry above the partitions is missing, or partitions have their entry but no state below it.

    `created_after`: the topic is younger than all registrations up to this broker epoch (broker epochs and creation ids
    of topics are numbers of one sequence of the store)."""

    name: str
    assignment: TopicAssignment
    states: Mapping[int, PartitionState]
    has_partitions_entry: bool = True
    bare_partitions: frozenset[int] = frozenset()
    created_after: int = field(default=-1, compare=False)

    @property
    def topic_id(self) -> bytes:
        return self.assignment.topic_id


@dataclass(frozen=True, slots=True)
class ReplicaOfTopic:
    """One replica of a partition, within its topic."""

    partition: int
    broker_id: int


@dataclass(frozen=True, slots=True)
class StoredAcls:
    """The ACLs on one resource pattern and the version of their entry in the store."""

    entries: tuple[AccessControlEntry, ...]
    version: int


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """The stored response to a forwarded change, and the time (Unix, ms) until which a retry returns it."""

    expires_ms: int
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """`deleting` holds, per topic under deletion, the replicas not yet confirmed as deleted. `controllers`: the feature
    levels that the live dedicated controllers support. `shared_version`: up to there the context includes the metadata
    change log (`direct_writes/metadata_change_log.py`). `corrupt_topics`: corrupt entries by topic; a topic that is
    quarantined as a whole is not among the `topics`. `corrupt_entries`: data of all quarantined entries by path, those
    of topics included. `unknown_entries`: paths of unknown entries below entries that
    may be deleted. `histories`: the last registration of each broker that was applied. Of partitions without a leader
    only: `log_ends`, the ends of the replicas' logs by broker, and `waited`, those that have waited long enough for
    members of their ISR to return."""

    controller_id: int
    controller_epoch: int
    brokers: Mapping[int, LiveBroker] = field(default_factory=dict)
    controllers: Mapping[int, LevelRanges] = field(default_factory=dict)
    shutting_down: frozenset[int] = frozenset()
    topics: Mapping[str, ControlledTopic] = field(default_factory=dict)
    topic_names: Mapping[bytes, str] = field(default_factory=dict)
    collision_names: Mapping[str, str] = field(default_factory=dict)
    configs: Mapping[str, Configs] = field(default_factory=dict)
    acls: Mapping[ResourcePattern, StoredAcls] = field(default_factory=dict)
    tokens: Mapping[str, DelegationToken] = field(default_factory=dict)
    deleting: Mapping[str, frozenset[ReplicaOfTopic]] = field(default_factory=dict)
    offline_replicas: Mapping[int, frozenset[TopicPartition]] = field(default_factory=dict)
    producer_id_block: ProducerIdBlock | None = None
    producer_id_version: int = 0
    forwarded: Mapping[tuple[int, int, int], StoredResponse] = field(default_factory=dict)
    features: FinalizedFeatures = NO_FEATURES
    shared_version: int = 0
    corrupt_topics: Mapping[str, TopicCorruption] = field(default_factory=dict)
    corrupt_entries: Mapping[str, bytes | None] = field(default_factory=dict)
    unknown_entries: tuple[str, ...] = ()
    histories: Mapping[int, BrokerHistory] = field(default_factory=dict)
    log_ends: Mapping[TopicPartition, Mapping[int, LogEnd]] = field(default_factory=dict)
    waited: Collection[TopicPartition] = frozenset()

    def is_replica_online(self, broker_id: int, partition: TopicPartition) -> bool:
        """Whether the broker is live, is not shutting down and has the replica in a working directory."""
        return broker_id not in self.shutting_down and self.is_replica_reachable(broker_id, partition)

    def is_replica_reachable(self, broker_id: int, partition: TopicPartition) -> bool:
        """The same, but a broker that is shutting down counts."""
        return broker_id in self.brokers and partition not in self.offline_replicas.get(broker_id, ())

    def log_end(self, broker_id: int, partition: TopicPartition) -> LogEnd | None:
        """The replica's log end; None if its broker has not reported it since the partition lost its leader."""
        return self.log_ends.get(partition, {}).get(broker_id)

    def replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        """Assigned brokers, preferred leader first; empty for an unknown partition."""
        topic = self.topics.get(partition.topic)
        return () if topic is None else topic.assignment.replicas.get(partition.partition, ())

    def assignment_of(self, partition: TopicPartition) -> ReplicaAssignment:
        """The replicas with those that a reassignment under way adds and removes."""
        topic = self.topics.get(partition.topic)
        return ReplicaAssignment() if topic is None else topic.assignment.of(partition.partition)

    def state(self, partition: TopicPartition) -> PartitionState | None:
        """Leader, ISR and epochs; None for a partition that never had a leader or does not exist."""
        topic = self.topics.get(partition.topic)
        return None if topic is None else topic.states.get(partition.partition)

    def partitions(self) -> Iterator[TopicPartition]:
        """All partitions but quarantined ones and those of topics under deletion. Yields."""
        for topic in self.topics.values():
            if topic.name not in self.deleting:
                corruption = self.corrupt_topics.get(topic.name)
                for partition in topic.assignment.replicas:
                    yield_if_due()
                    if corruption is None or not corruption.covers(partition):
                        yield TopicPartition(topic.name, partition)

    def is_quarantined(self, partition: TopicPartition) -> bool:
        """Whether the partition is quarantined: its entry cannot be read, and nothing is decided for it."""
        corruption = self.corrupt_topics.get(partition.topic)
        return corruption is not None and corruption.covers(partition.partition)

    def quarantined_partitions(self) -> Iterator[TopicPartition]:
        """The quarantined partitions of topics whose assignment can be read."""
        for name, corruption in self.corrupt_topics.items():
            for partition in sorted(corruption.partitions or ()):
                if self.replicas(TopicPartition(name, partition)):
                    yield TopicPartition(name, partition)

    def moving(self) -> Iterator[TopicPartition]:
        """Partitions with a reassignment under way, without those of topics under deletion."""
        for topic in self.topics.values():
            if (topic.assignment.adding or topic.assignment.removing) and topic.name not in self.deleting:
                for number in sorted(topic.assignment.adding.keys() | topic.assignment.removing.keys()):
                    partition = TopicPartition(topic.name, number)
                    if not self.is_quarantined(partition):
                        yield partition

    def partitions_on(self, broker_id: int) -> list[TopicPartition]:
        """Partitions with a replica on this broker, without those of topics under deletion. Yields."""
        return [partition for partition in self.partitions() if broker_id in self.replicas(partition)]

    def usable_topic(self, name: str) -> ControlledTopic | None:
        """A topic that exists and is not under deletion."""
        return None if name in self.deleting else self.topics.get(name)

    def allows_unclean_election(self, topic: str, by_default: bool) -> bool:
        """The topic's own setting, else this node's, else that of all brokers, else `by_default`."""
        for entity_path in (f"topics/{topic}", f"brokers/{self.controller_id}", BROKER_DEFAULT_ENTITY):
            value = self.configs.get(entity_path, {}).get(UNCLEAN_KEY)
            if value is not None:
                return value.strip().lower() == "true"
        return by_default


def collision_name(topic: str) -> str:
    """Topics whose names differ only in '.' and '_' would collide in metric names."""
    return topic.replace(".", "_")
