"""AlterPartitionReassignments and ListPartitionReassignments as decisions (KIP-455, KIP-860).

Per partition, in this order: it exists; a cancellation has a reassignment to cancel; the targets are not empty, have
no duplicates and no negative ids, new ones are on live brokers; the replication factor stays if the request requires
it. The latest request wins. The response means that the reassignment has begun, not that it is complete. As in Kafka's
KRaft controller, and unlike its ZooKeeper one, a change that would need an unclean election is rejected unless the
topic allows one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.common.limits import MAX_PARTITIONS_PER_REQUEST
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.partitions.reassignment import Moves
from signalbox.controller.store.topic_corruption import rejection
from signalbox.controller.topics.assignment import reject_replica_list
from signalbox.metadata.entries.topic_assignment import ReplicaAssignment
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from signalbox.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

_TopicResult = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
_Result = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse
_TOO_LARGE = "Unable to perform excessively large batch operation."
_Ongoing = ListPartitionReassignmentsResponse.OngoingPartitionReassignment


def alter_partition_reassignments(
    context: ControllerContext, inputs: Inputs, request: AlterPartitionReassignmentsRequest
) -> Decision:
    """The first steps of every accepted reassignment, and a response with a result for each partition. Yields."""
    allow_factor_change = request.allow_replication_factor_change
    if sum(len(topic.partitions) for topic in request.topics) > MAX_PARTITIONS_PER_REQUEST:
        rejected = AlterPartitionReassignmentsResponse(error_code=Error.POLICY_VIOLATION, error_message=_TOO_LARGE)
        return Decision(response=rejected)
    moves = Moves(context)
    results: dict[str, list[_Result]] = {}
    for partition, targets in _asked(request).items():
        yield_if_due()
        result = _Result(partition_index=partition.partition, error_code=Error.NONE, error_message=None)
        try:
            wanted = _wanted(context, partition, targets, allow_factor_change)
            moves.begin(partition, wanted, _unclean(context, inputs, partition.topic))
        except KafkaError as rejection:
            result.error_code, result.error_message = rejection.error, rejection.message
        results.setdefault(partition.topic, []).append(result)
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=allow_factor_change,
        error_message=None,
        responses=[
            _TopicResult(name=name, partitions=partition_results) for name, partition_results in results.items()
        ],
    )
    return Decision(records=tuple(moves.records()), response=response, effects=tuple(moves.effects()))


def list_partition_reassignments(
    context: ControllerContext, inputs: Inputs, request: ListPartitionReassignmentsRequest
) -> Decision:
    """The reassignments under way, of all partitions or of those in the request; other partitions are left out."""
    topics: dict[str, list[_Ongoing]] = {}
    for partition in dict.fromkeys(_listed(context, request)):
        assignment = context.assignment_of(partition)
        if assignment.is_moving and context.usable_topic(partition.topic) is not None:
            ongoing = _Ongoing(
                partition_index=partition.partition,
                replicas=list(assignment.replicas),
                adding_replicas=list(assignment.adding),
                removing_replicas=list(assignment.removing),
            )
            topics.setdefault(partition.topic, []).append(ongoing)
    made = ListPartitionReassignmentsResponse.OngoingTopicReassignment
    return Decision(
        response=ListPartitionReassignmentsResponse(
            error_message=None, topics=[made(name=name, partitions=found) for name, found in topics.items()]
        )
    )


def _asked(request: AlterPartitionReassignmentsRequest) -> dict[TopicPartition, Sequence[int] | None]:
    return {
        TopicPartition(topic.name, each.partition_index): each.replicas
        for topic in request.topics
        for each in topic.partitions
    }


def _listed(context: ControllerContext, request: ListPartitionReassignmentsRequest) -> Iterator[TopicPartition]:
    if request.topics is None:
        yield from context.moving()
    for topic in request.topics or ():
        for partition in topic.partition_indexes:
            yield TopicPartition(topic.name, partition)


def _wanted(
    context: ControllerContext, partition: TopicPartition, targets: Sequence[int] | None, allow_factor_change: bool
) -> ReplicaAssignment:
    now = context.assignment_of(partition)
    if context.is_quarantined(partition):
        raise rejection(partition.topic, context.corrupt_topics[partition.topic])
    if context.usable_topic(partition.topic) is None or not now.replicas:
        topic, number = partition
        what = f"partition {topic}:{number}" if topic in context.topics else f"a topic named {topic}"
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find {what}.")
    if targets is None:
        if not now.is_moving:
            raise KafkaError(Error.NO_REASSIGNMENT_IN_PROGRESS)
        return now.towards(now.originals)
    _reject_targets(targets)
    wanted = now.towards(targets)
    alive = context.brokers.keys() - context.shutting_down
    if not alive >= set(wanted.adding):
        raise _rejection(
            f"Replica assignment has brokers that are not alive. Replica list: {list(wanted.adding)}, live broker "
            f"list: {sorted(alive)}"
        )
    if not allow_factor_change and len(targets) != len(now.targets):
        raise KafkaError(
            Error.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {len(now.targets)} to {len(targets)}",
        )
    return wanted


def _reject_targets(targets: Sequence[int]) -> None:
    reject_replica_list(targets)
    if (broker := min(targets)) < 0:
        raise _rejection(f"The manual partition assignment includes broker {broker}, but no such broker is registered.")


def _rejection(message: str) -> KafkaError:
    return KafkaError(Error.INVALID_REPLICA_ASSIGNMENT, message)


def _unclean(context: ControllerContext, inputs: Inputs, topic: str) -> bool:
    return context.allows_unclean_election(topic, inputs.settings.unclean_leader_election_enable)
