"""DeleteTopics, and the steps of a deletion: mark, UpdateMetadata to all brokers, stop and delete replicas, remove the
entries.

Clients do not see the topic any more as soon as the metadata says so (leader -2); the deletion continues until every
replica is known to be deleted. Replicas on a dead broker, or in a failed directory, are deleted when they return: each
time a broker joins, at every failover and in the housekeeping, StopReplica is retried for the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable

from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.controller.context import ControllerContext, ReplicaOfTopic
from signalbox.controller.decision import (
    Decision,
    Effect,
    Inputs,
    MetadataAnnounced,
    ReplicasStopped,
    Visibility,
)
from signalbox.controller.records import (
    Record,
    ReplicasDeleted,
    TopicDeleted,
    TopicDeletionRejected,
    TopicDeletionStarted,
)
from signalbox.controller.store.topic_corruption import rejection
from signalbox.controller.visibility import all_gone
from signalbox.metadata.entries.topic_assignment import TopicAssignment
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

_Result = DeleteTopicsResponse.DeletableTopicResult
_State = DeleteTopicsRequest.DeleteTopicState


def delete_topics(context: ControllerContext, inputs: Inputs, request: DeleteTopicsRequest) -> Decision:
    """Deletion marks for every topic that exists, and a response with a result for each topic. Yields."""
    wanted = request.topics or [_State(name=name) for name in request.topic_names]
    results: list[_Result] = []
    going: dict[str, bytes] = {}
    answered: set[object] = set()
    for state, rejected in zip(yielding(wanted), _rejections(context, inputs, wanted), strict=True):
        if _identity(context, state) in answered:
            continue  # Kafka returns one result for a topic that is named twice
        answered.add(_identity(context, state))
        name = state.name or context.topic_names.get(state.topic_id)
        if rejected is not None:
            results.append(_result(state.name, state.topic_id, rejected.error, rejected.message))
            continue
        assert name is not None
        going[name] = context.topics[name].topic_id
        results.append(_result(name, going[name], Error.NONE, None))
    response = DeleteTopicsResponse(responses=results)
    if not going:
        return Decision(response=response)
    fresh = [name for name in going if name not in context.deleting]
    return Decision(
        records=tuple(TopicDeletionStarted(name) for name in fresh),
        response=response,
        effects=_removal(context, fresh),
        visibility=Visibility(all_gone(going), request.timeout_ms, lambda: _late(response)),
    )


def replicas_deleted(context: ControllerContext, topic: str, replicas: Iterable[ReplicaOfTopic]) -> Decision:
    """A broker has deleted these replicas; with the last one the topic's entries are deleted."""
    if topic not in context.deleting:
        return Decision()
    gone = frozenset(replicas)
    records: list[Record] = [ReplicasDeleted(topic, gone)]
    if not context.deleting[topic] - gone:
        records.append(TopicDeleted(topic))
    return Decision(records=tuple(records))


def retry_replica_deletions(context: ControllerContext, broker_ids: Iterable[int]) -> tuple[Effect, ...]:
    """StopReplica for all replicas that these brokers still have of topics under deletion."""
    effects = []
    for broker_id in broker_ids:
        partitions = tuple(
            TopicPartition(topic, replica.partition)
            for topic, replicas in context.deleting.items()
            for replica in sorted(replicas, key=lambda each: each.partition)
            if replica.broker_id == broker_id
        )
        if partitions and broker_id in context.brokers:
            effects.append(ReplicasStopped(broker_id, partitions, delete=True))
    return tuple(effects)


def reject_pending_deletions(context: ControllerContext, inputs: Inputs) -> tuple[Record, ...]:
    """At a failover: remove the marks of unknown topics, and all marks if deletion is disabled."""
    return tuple(
        TopicDeletionRejected(topic)
        for topic in context.deleting
        if topic not in context.topics or not inputs.settings.delete_topic_enable
    )


def partitions_under_deletion(context: ControllerContext) -> tuple[TopicPartition, ...]:
    """Partitions of topics under deletion: at a failover, brokers may not know of the deletion yet."""
    return tuple(
        TopicPartition(name, partition)
        for name in context.deleting
        if name in context.topics
        for partition in context.topics[name].assignment.replicas
    )


def _removal(context: ControllerContext, topics: Iterable[str]) -> tuple[Effect, ...]:
    by_broker: dict[int, list[TopicPartition]] = {}
    partitions: list[TopicPartition] = []
    for name in topics:
        assignment = context.topics[name].assignment
        partitions += [TopicPartition(name, number) for number in assignment.replicas]
        for replica in sorted(replicas_to_delete(assignment, context.brokers), key=lambda each: each.partition):
            if replica.broker_id in context.brokers:
                by_broker.setdefault(replica.broker_id, []).append(TopicPartition(name, replica.partition))
    stops = (ReplicasStopped(broker_id, tuple(stopped), delete=True) for broker_id, stopped in by_broker.items())
    return (MetadataAnnounced(tuple(partitions)), *stops)


def _rejections(context: ControllerContext, inputs: Inputs, wanted: list[_State]) -> Iterable[KafkaError | None]:
    """Yields."""
    named = Counter(_identity(context, state) for state in yielding(wanted))
    for state in wanted:
        yield _rejection(context, inputs, state, named)


def _identity(context: ControllerContext, state: _State) -> object:
    return state.name or context.topic_names.get(state.topic_id) or state.topic_id


def _rejection(context: ControllerContext, inputs: Inputs, state: _State, named: Counter[object]) -> KafkaError | None:
    if state.name is not None and state.topic_id != ZERO_UUID:
        return KafkaError(Error.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if state.name is None and state.topic_id == ZERO_UUID:
        return KafkaError(Error.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if named[_identity(context, state)] > 1:
        return KafkaError(Error.INVALID_REQUEST, "The provided topic name maps to an ID that was already supplied.")
    if not inputs.settings.delete_topic_enable:
        return KafkaError(Error.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
    if state.name is None and state.topic_id not in context.topic_names:
        return KafkaError(Error.UNKNOWN_TOPIC_ID)
    name = state.name or context.topic_names.get(state.topic_id) or ""
    if (corruption := context.corrupt_topics.get(name)) is not None:
        return rejection(name, corruption)
    if state.name is not None and state.name not in context.topics:
        return KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
    return None


def _result(name: str | None, topic_id: bytes, error: Error, message: str | None) -> _Result:
    return _Result(name=name, topic_id=topic_id, error_code=error, error_message=message)


def _late(response: DeleteTopicsResponse) -> DeleteTopicsResponse:
    timed_out = Error.REQUEST_TIMED_OUT
    return DeleteTopicsResponse(
        responses=[
            _result(each.name, each.topic_id, timed_out, timed_out.message) if each.error_code == Error.NONE else each
            for each in response.responses
        ]
    )


def _all_replicas(replicas: dict[int, tuple[int, ...]]) -> frozenset[ReplicaOfTopic]:
    """Every replica of a topic."""
    return frozenset(ReplicaOfTopic(partition, broker) for partition, brokers in replicas.items() for broker in brokers)


def replicas_to_delete(assignment: TopicAssignment, brokers: Container[int]) -> frozenset[ReplicaOfTopic]:
    """Every replica of a topic under deletion, and the removed replicas that live brokers still have. A dead broker
    with a removed replica may never return, so the deletion does not wait for it."""
    held = {
        number: tuple(broker for broker in holders if broker in brokers)
        for number, holders in assignment.removed.items()
    }
    return _all_replicas(assignment.replicas) | _all_replicas(held)
