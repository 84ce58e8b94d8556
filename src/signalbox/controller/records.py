"""Everything a decision can change, one record each. `replay.py` says what a record does to store and context.

The last group changes the context alone: what brokers wrote themselves, or what is true of processes and not of
metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControlledTopic, KeptOutcome, LiveBroker, ReplicaOfTopic, StoredAcls
from signalbox.metadata.entity_config import Configs
from signalbox.metadata.feature_levels import LevelRanges, Levels
from signalbox.metadata.partition_state import PartitionState
from signalbox.metadata.producer_id_block import ProducerIdBlock
from signalbox.metadata.topic_assignment import TopicAssignment
from signalbox.security.acl import AccessControlEntry, ResourcePattern
from signalbox.security.delegation_token import DelegationToken


@dataclass(frozen=True, slots=True)
class TopicCreated:
    """A new topic with its id, assignment and configs; its partitions follow as `PartitionCreated`."""

    topic: str
    assignment: TopicAssignment
    configs: Configs


@dataclass(frozen=True, slots=True)
class TopicAssignmentChanged:
    """More partitions, or other replicas."""

    topic: str
    assignment: TopicAssignment


@dataclass(frozen=True, slots=True)
class PartitionCreated:
    """A partition's first leader and ISR."""

    partition: TopicPartition
    state: PartitionState


@dataclass(frozen=True, slots=True)
class PartitionStateChanged:
    """A partition's next leader, ISR or recovery state. `state.partition_epoch` is the one after the change."""

    partition: TopicPartition
    state: PartitionState


@dataclass(frozen=True, slots=True)
class ConfigsSet:
    """All configs of an entity from now on (`topics/flights`, `brokers/1`, `brokers/<default>`)."""

    entity_path: str
    configs: Configs


@dataclass(frozen=True, slots=True)
class AclsSet:
    """All ACLs on a resource pattern from now on; without any its entry goes."""

    pattern: ResourcePattern
    entries: tuple[AccessControlEntry, ...]


@dataclass(frozen=True, slots=True)
class FeaturesFinalized:
    """The finalized levels of all features from now on."""

    levels: Levels


@dataclass(frozen=True, slots=True)
class TokenSet:
    """A delegation token, new or with another end."""

    token: DelegationToken


@dataclass(frozen=True, slots=True)
class TokenRemoved:
    """A delegation token is no more."""

    token_id: str


@dataclass(frozen=True, slots=True)
class ForwardedOutcomeKept:
    """The answer to a forwarded change, under (broker id, broker epoch, number of the forwarding broker)."""

    key: tuple[int, int, int]
    outcome: KeptOutcome


@dataclass(frozen=True, slots=True)
class ForwardedOutcomesDropped:
    """Answers that nobody will ask for again."""

    keys: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TopicDeletionStarted:
    """A topic is on its way out: gone for clients, its replicas still to be removed."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicDeletionRefused:
    """A deletion mark that another program left is taken back: the topic is unknown, or deletion is disabled."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    """All replicas are gone, so the topic is."""

    topic: str


@dataclass(frozen=True, slots=True)
class ProducerIdsAllocated:
    """A block of producer ids was given to a broker."""

    block: ProducerIdBlock


@dataclass(frozen=True, slots=True)
class BrokerJoined:
    """A broker registered, or registered anew, or changed what it says about itself."""

    broker: LiveBroker


@dataclass(frozen=True, slots=True)
class ControllersRegistered:
    """Which levels of features each dedicated controller supports that is registered from now on."""

    controllers: Mapping[int, LevelRanges]


@dataclass(frozen=True, slots=True)
class BrokerLeft:
    """A broker's registration is gone."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class BrokerShutsDown:
    """A broker asked to go: it leads nothing new from now on."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class ReplicasOffline:
    """Replicas of a living broker whose log directory failed; those `back` work again."""

    broker_id: int
    failed: frozenset[TopicPartition]
    back: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class ReplicasDeleted:
    """Replicas of a topic on its way out that are gone."""

    topic: str
    replicas: frozenset[ReplicaOfTopic]


@dataclass(frozen=True, slots=True)
class PartitionStateLearnt:
    """A partition's state as its leader stored it by itself."""

    partition: TopicPartition
    state: PartitionState


@dataclass(frozen=True, slots=True)
class SharedLearnt:
    """What other brokers stored by themselves, up to `version` of the shared changes: configs by entity path, ACLs,
    tokens by id, topics without leaders. None is for what is gone."""

    version: int
    configs: Mapping[str, Configs | None]
    acls: Mapping[ResourcePattern, StoredAcls | None]
    tokens: Mapping[str, DelegationToken | None]
    topics: tuple[ControlledTopic, ...]


Record = (
    TopicCreated
    | TopicAssignmentChanged
    | PartitionCreated
    | PartitionStateChanged
    | ConfigsSet
    | AclsSet
    | FeaturesFinalized
    | TokenSet
    | TokenRemoved
    | ForwardedOutcomeKept
    | ForwardedOutcomesDropped
    | TopicDeletionStarted
    | TopicDeletionRefused
    | TopicDeleted
    | ProducerIdsAllocated
    | BrokerJoined
    | BrokerLeft
    | ControllersRegistered
    | BrokerShutsDown
    | ReplicasOffline
    | ReplicasDeleted
    | PartitionStateLearnt
    | SharedLearnt
)
