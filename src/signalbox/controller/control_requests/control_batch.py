"""Effects become requests: which LeaderAndIsr, UpdateMetadata and StopReplica are sent to which broker.

One batch of requests per stored event batch, built from the context after it. Per broker the order is: UpdateMetadata
about brokers, LeaderAndIsr, UpdateMetadata about partitions, StopReplica. The first comes ahead because a follower
only follows a leader that it knows to be alive. A newly registered broker may be an old one that was offline while
topics were deleted, and a new controller does not know which brokers the old one had notified. So the first
UpdateMetadata is FULL in that case: it names all existing topics.
All partitions of a LeaderAndIsr are in the UpdateMetadata to all brokers, too.
Requests about many partitions are split, so that neither building nor applying one holds an event loop for long.
A replica that one decision of the batch removed and a later one added again is not deleted.
An unverified member of an ISR (decision 0031) gets LeaderAndIsr as a follower when the leader has responded and the
member has left the ISR. Until then its log, or that it has none, stays as it is: if the leader is dead after all, the
logs of the members are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TypeVar

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import (
    BrokersAnnounced,
    Effect,
    LeadersAnnounced,
    MetadataAnnounced,
    ReplicasStopped,
)
from signalbox.controller.partitions.log_comparison import is_waiting, offline_reason
from signalbox.metadata.delta import FULL, LEADER_DURING_DELETE, NOT_DECIDED
from signalbox.metadata.entries.partition_state import NO_LEADER
from signalbox.protocol import own_tags
from signalbox.protocol.message import Message
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest

TOPIC_DELETED_EPOCH = -2  # StopReplica's leader epoch for a topic under deletion
NO_LEADER_EPOCH = -1
NO_BROKER_EPOCH = -1

PARTITIONS_PER_REQUEST = 100  # building, encoding or applying such a request takes well below a millisecond

V = TypeVar("V")
_LeaderState = LeaderAndIsrRequest.LeaderAndIsrPartitionState
_TopicState = UpdateMetadataRequest.UpdateMetadataTopicState
_MetadataState = UpdateMetadataRequest.UpdateMetadataPartitionState


@dataclass(slots=True)
class ControlBatch:
    """The requests after one store commit: `add` collects effects, `requests` builds the requests. `awaited`: the
    partitions, with their leader epochs, whose elections wait for members of the ISR to return."""

    leader_and_isr: dict[int, dict[TopicPartition, bool]] = field(default_factory=dict)
    metadata: dict[TopicPartition, None] = field(default_factory=dict)
    stop_replica: dict[int, dict[TopicPartition, bool]] = field(default_factory=dict)
    new_brokers: dict[int, None] = field(default_factory=dict)
    brokers_first: bool = False
    names_topics: bool = False
    brokers_only: bool = False
    awaited: dict[TopicPartition, int] = field(default_factory=dict)

    def add(self, context: ControllerContext, effects: Iterable[Effect]) -> None:
        """Add effects; `context` is the one after their decision. Yields."""
        for effect in effects:
            match effect:
                case BrokersAnnounced(new_brokers=new_brokers, names_topics=names_topics):
                    self.brokers_first = True
                    self.names_topics = self.names_topics or names_topics
                    self.new_brokers.update(dict.fromkeys(new_brokers))
                case MetadataAnnounced(partitions=partitions):
                    self.brokers_only = self.brokers_only or not partitions
                    self.metadata.update(dict.fromkeys(partitions))
                case LeadersAnnounced():
                    self._add_leaders(context, effect)
                case ReplicasStopped(broker_id=broker_id, partitions=partitions, delete=delete):
                    stopped = self.stop_replica.setdefault(broker_id, {})
                    for partition in partitions:
                        stopped[partition] = stopped.get(partition, False) or delete

    def requests(self, context: ControllerContext, inter_broker_listener: str) -> Iterator[tuple[int, Message]]:
        """(broker id, request) in the order of sending; only live brokers get requests. Yields."""
        broker_ids = list(context.brokers)
        if self.brokers_first:
            yield from self._about_brokers(context, broker_ids)
        for broker_id, partitions in self.leader_and_isr.items():
            for chunk in _chunks(partitions) if broker_id in context.brokers else ():
                request = _leader_and_isr(context, broker_id, chunk, inter_broker_listener)
                if request.topic_states:
                    yield broker_id, request
        if self.brokers_only and not self.brokers_first and not self.metadata:
            for broker_id in broker_ids:
                yield broker_id, _update_metadata(context, context.brokers[broker_id].broker_epoch, [])
        for changed in _chunks(self.metadata):
            topics = _metadata_topics(context, changed)
            for broker_id in broker_ids:
                yield broker_id, _update_metadata(context, context.brokers[broker_id].broker_epoch, topics)
        for broker_id, stopped in self.stop_replica.items():
            for chunk in _chunks(stopped) if broker_id in context.brokers else ():
                wanted = {
                    partition: delete
                    for partition, delete in chunk.items()
                    if not (delete and _is_back(context, broker_id, partition))
                }
                if wanted:
                    yield broker_id, _stop_replica(context, broker_id, wanted)

    def local_requests(self, context: ControllerContext) -> Iterator[UpdateMetadataRequest]:
        """The same UpdateMetadata for the controller's own node, if no broker runs there to receive it (F15).
        Yields."""
        if self.brokers_first or self.brokers_only:
            yield _update_metadata(context, NO_BROKER_EPOCH, self._named_topics(context), self.names_topics)
        for changed in _chunks(self.metadata):
            yield _update_metadata(context, NO_BROKER_EPOCH, _metadata_topics(context, changed))

    def _add_leaders(self, context: ControllerContext, effect: LeadersAnnounced) -> None:
        """Yields."""
        for partition in effect.partitions:
            yield_if_due()
            brokers = context.replicas(partition) if effect.brokers is None else effect.brokers
            for broker_id in brokers:
                if broker_id in context.brokers:
                    announced = self.leader_and_isr.setdefault(broker_id, {})
                    announced[partition] = announced.get(partition, False) or effect.is_new
            self.metadata[partition] = None
            if is_waiting(context, partition) and (state := context.state(partition)) is not None:
                self.awaited[partition] = state.leader_epoch

    def _about_brokers(self, context: ControllerContext, broker_ids: list[int]) -> Iterator[tuple[int, Message]]:
        """Yields."""
        everything = _everything(context) if self.new_brokers else []
        named = self._named_topics(context)
        for broker_id in broker_ids:
            epoch = context.brokers[broker_id].broker_epoch
            if broker_id in self.new_brokers:
                yield broker_id, _update_metadata(context, epoch, everything, is_full=True)
            else:
                yield broker_id, _update_metadata(context, epoch, named, self.names_topics)

    def _named_topics(self, context: ControllerContext) -> list[UpdateMetadataRequest.UpdateMetadataTopicState]:
        """Topics without their partitions; those follow in later requests."""
        if not self.names_topics:
            return []
        named = [_TopicState(topic_name=name, topic_id=topic.topic_id) for name, topic in context.topics.items()]
        return [*named, *_quarantined_topics(context)]


def _chunks(partitions: Mapping[TopicPartition, V]) -> Iterator[dict[TopicPartition, V]]:
    left = iter(partitions.items())
    while chunk := dict(islice(left, PARTITIONS_PER_REQUEST)):
        yield chunk


def _is_back(context: ControllerContext, broker_id: int, partition: TopicPartition) -> bool:
    return partition.topic not in context.deleting and broker_id in context.replicas(partition)


def _leader_and_isr(
    context: ControllerContext,
    broker_id: int,
    partitions: Mapping[TopicPartition, bool],
    inter_broker_listener: str,
) -> LeaderAndIsrRequest:
    """Yields."""
    topics: dict[str, list[_LeaderState]] = {}
    leaders: dict[int, None] = {}
    for partition, is_new in partitions.items():
        yield_if_due()
        state = context.state(partition)
        replicas = context.replicas(partition)
        if state is None or partition.topic in context.deleting or broker_id not in replicas:
            continue
        if broker_id in state.unverified and state.leader not in (NO_LEADER, broker_id):
            continue  # it must not create an empty log, or truncate its own, for a leader that may be dead
        assignment = context.topics[partition.topic].assignment
        leaders[state.leader] = None
        entry = _LeaderState(
            partition_index=partition.partition,
            controller_epoch=state.controller_epoch,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=list(state.isr),
            partition_epoch=state.partition_epoch,
            replicas=list(replicas),
            adding_replicas=list(assignment.adding.get(partition.partition, ())),
            removing_replicas=list(assignment.removing.get(partition.partition, ())),
            is_new=is_new,
            leader_recovery_state=state.recovery,
        )
        own_tags.put_unclean_epoch(entry, state.unclean_epoch)
        topics.setdefault(partition.topic, []).append(entry)
    return LeaderAndIsrRequest(
        controller_id=context.controller_id,
        controller_epoch=context.controller_epoch,
        broker_epoch=context.brokers[broker_id].broker_epoch,
        topic_states=[
            LeaderAndIsrRequest.LeaderAndIsrTopicState(
                topic_name=name, topic_id=context.topics[name].topic_id, partition_states=states
            )
            for name, states in topics.items()
        ],
        live_leaders=list(_live_leaders(context, leaders, inter_broker_listener)),
    )


def _live_leaders(
    context: ControllerContext, leaders: Iterable[int], listener: str
) -> Iterator[LeaderAndIsrRequest.LeaderAndIsrLiveLeader]:
    for broker_id in leaders:
        broker = context.brokers.get(broker_id)
        endpoint = broker.registration.endpoint(listener) if broker else None
        if endpoint is not None:
            yield LeaderAndIsrRequest.LeaderAndIsrLiveLeader(
                broker_id=broker_id, host_name=endpoint.host, port=endpoint.port
            )


def _metadata_topics(
    context: ControllerContext, partitions: Iterable[TopicPartition]
) -> list[UpdateMetadataRequest.UpdateMetadataTopicState]:
    """Yields."""
    topics: dict[str, list[_MetadataState]] = {}
    for partition in partitions:
        yield_if_due()
        state = context.state(partition)
        if context.is_quarantined(partition):
            topics.setdefault(partition.topic, []).append(_not_decided(context, partition))
            continue
        if state is None:
            continue
        deleting = partition.topic in context.deleting
        replicas = context.replicas(partition)
        entry = _MetadataState(
            partition_index=partition.partition,
            controller_epoch=state.controller_epoch,
            leader=LEADER_DURING_DELETE if deleting else state.leader,
            leader_epoch=0 if deleting else state.leader_epoch,
            isr=list(state.isr),
            zk_version=0 if deleting else state.partition_epoch,
            replicas=list(replicas),
            offline_replicas=[
                broker_id for broker_id in replicas if not context.is_replica_reachable(broker_id, partition)
            ],
        )
        if state.leader == NO_LEADER:
            own_tags.put_offline_reason(entry, offline_reason(context, partition, state))
        topics.setdefault(partition.topic, []).append(entry)
    return [
        UpdateMetadataRequest.UpdateMetadataTopicState(
            topic_name=name, topic_id=context.topics[name].topic_id, partition_states=states
        )
        for name, states in topics.items()
    ]


def _everything(context: ControllerContext) -> list[_TopicState]:
    """Yields."""
    partitions = chain(context.partitions(), context.quarantined_partitions())
    return [*_metadata_topics(context, partitions), *_quarantined_topics(context)]


def _quarantined_topics(context: ControllerContext) -> Iterator[_TopicState]:
    """Topics that are quarantined as a whole: only the name is sent. Brokers keep their metadata of them, and
    do not treat them as deleted."""
    return (_TopicState(topic_name=name) for name, corruption in context.corrupt_topics.items() if corruption.is_whole)


def _not_decided(context: ControllerContext, partition: TopicPartition) -> _MetadataState:
    """A quarantined partition still exists: a broker that has a state of it keeps that state."""
    return _MetadataState(
        partition_index=partition.partition,
        controller_epoch=context.controller_epoch,
        leader=NO_LEADER,
        leader_epoch=NOT_DECIDED,
        replicas=list(context.replicas(partition)),
    )


def _update_metadata(
    context: ControllerContext,
    broker_epoch: int,
    topics: list[UpdateMetadataRequest.UpdateMetadataTopicState],
    is_full: bool = False,
) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(
        type=FULL if is_full else 0,
        controller_id=context.controller_id,
        controller_epoch=context.controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=topics,
        live_brokers=[
            UpdateMetadataRequest.UpdateMetadataBroker(
                id=each,
                endpoints=[
                    UpdateMetadataRequest.UpdateMetadataEndpoint(
                        port=endpoint.port,
                        host=endpoint.host,
                        listener=endpoint.listener_name,
                        security_protocol=endpoint.security_protocol,
                    )
                    for endpoint in broker.registration.endpoints
                ],
                rack=broker.registration.rack,
            )
            for each, broker in sorted(context.brokers.items())
        ],
    )


def _stop_replica(
    context: ControllerContext, broker_id: int, stopped: Mapping[TopicPartition, bool]
) -> StopReplicaRequest:
    topics: dict[str, list[StopReplicaRequest.StopReplicaPartitionState]] = {}
    for partition, delete in stopped.items():
        state = context.state(partition)
        epoch = NO_LEADER_EPOCH if state is None else state.leader_epoch
        topics.setdefault(partition.topic, []).append(
            StopReplicaRequest.StopReplicaPartitionState(
                partition_index=partition.partition,
                leader_epoch=TOPIC_DELETED_EPOCH if partition.topic in context.deleting else epoch,
                delete_partition=delete,
            )
        )
    return StopReplicaRequest(
        controller_id=context.controller_id,
        controller_epoch=context.controller_epoch,
        broker_epoch=context.brokers[broker_id].broker_epoch,
        topic_states=[
            StopReplicaRequest.StopReplicaTopicState(topic_name=name, partition_states=states)
            for name, states in topics.items()
        ],
    )
