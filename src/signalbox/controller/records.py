"""Everything a decision can change, one record each. `replay.py` applies a record to store and context.

The last group changes the context only: the state of processes, which is not metadata. `ExternalUpdate`, what brokers
stored themselves, is in `direct_writes/external_update.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import (
    LiveBroker,
    LogEnd,
    ReplicaOfTopic,
    StoredResponse,
)
from signalbox.controller.direct_writes.external_update import ExternalUpdate
from signalbox.metadata.broker_history import BrokerHistory
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.entries.feature_levels import LevelRanges, Levels
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.entries.producer_id_block import ProducerIdBlock
from signalbox.metadata.entries.topic_assignment import TopicAssignment
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
    """All ACLs on a resource pattern from now on; without any its entry is deleted."""

    pattern: ResourcePattern
    entries: tuple[AccessControlEntry, ...]


@dataclass(frozen=True, slots=True)
class FeaturesFinalized:
    """The finalized levels of all features from now on."""

    levels: Levels


@dataclass(frozen=True, slots=True)
class TokenSet:
    """A delegation token, new or with another expiry time."""

    token: DelegationToken


@dataclass(frozen=True, slots=True)
class TokenRemoved:
    """A delegation token is removed."""

    token_id: str


@dataclass(frozen=True, slots=True)
class ForwardedResponseStored:
    """The response to a forwarded change, under (broker id, broker epoch, number of the forwarding broker)."""

    key: tuple[int, int, int]
    response: StoredResponse


@dataclass(frozen=True, slots=True)
class ForwardedResponsesRemoved:
    """Stored responses that no broker will request again."""

    keys: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class TopicDeletionStarted:
    """The deletion of a topic has begun: clients do not see it any more, its replicas are still to be deleted."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicDeletionRejected:
    """A deletion mark that another program left is removed: the topic is unknown, or deletion is disabled."""

    topic: str


@dataclass(frozen=True, slots=True)
class TopicDeleted:
    """All replicas of a topic are deleted, so the topic is deleted."""

    topic: str


@dataclass(frozen=True, slots=True)
class ProducerIdsAllocated:
    """A block of producer ids was allocated to a broker."""

    block: ProducerIdBlock


@dataclass(frozen=True, slots=True)
class BrokerHistoryKept:
    """A broker's registration has been applied: its next registration is compared with this one."""

    broker_id: int
    history: BrokerHistory


@dataclass(frozen=True, slots=True)
class LogEndsReported:
    """The ends of a live broker's logs of partitions without a leader."""

    broker_id: int
    log_ends: Mapping[TopicPartition, LogEnd]


@dataclass(frozen=True, slots=True)
class ElectionsWaited:
    """These partitions have waited long enough for the absent members of their ISR."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class BrokerJoined:
    """A broker registered, or registered again, or changed its registration."""

    broker: LiveBroker


@dataclass(frozen=True, slots=True)
class ControllersRegistered:
    """The feature levels that each registered dedicated controller supports, from now on."""

    controllers: Mapping[int, LevelRanges]


@dataclass(frozen=True, slots=True)
class BrokerLeft:
    """A broker's registration was removed."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class BrokerShutsDown:
    """A broker requested a controlled shutdown: it is not elected any more."""

    broker_id: int


@dataclass(frozen=True, slots=True)
class ReplicasOffline:
    """Replicas of a live broker whose log directory failed; those in `back` work again."""

    broker_id: int
    failed: frozenset[TopicPartition]
    back: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class ReplicasDeleted:
    """Replicas of a topic under deletion that are deleted."""

    topic: str
    replicas: frozenset[ReplicaOfTopic]


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
    | ForwardedResponseStored
    | ForwardedResponsesRemoved
    | TopicDeletionStarted
    | TopicDeletionRejected
    | TopicDeleted
    | ProducerIdsAllocated
    | BrokerHistoryKept
    | LogEndsReported
    | ElectionsWaited
    | BrokerJoined
    | BrokerLeft
    | ControllersRegistered
    | BrokerShutsDown
    | ReplicasOffline
    | ReplicasDeleted
    | ExternalUpdate
)
