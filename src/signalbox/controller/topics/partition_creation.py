"""CreatePartitions as a decision: more partitions for existing topics, placed by the controller or assigned manually.

If the request needs more partitions than one decision may place, all of it is rejected, as Kafka's limit on one batch
of records does. New partitions have as many replicas as the first one will have after a reassignment under way, which
goes on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import TopicPartition
from signalbox.common.limits import MAX_PARTITIONS_PER_REQUEST, MAX_PARTITIONS_PER_TOPIC
from signalbox.controller.context import ControlledTopic, ControllerContext
from signalbox.controller.decision import Decision, Inputs, LeadersAnnounced, Visibility
from signalbox.controller.partitions.partition_control import first_state
from signalbox.controller.records import PartitionCreated, Record, TopicAssignmentChanged
from signalbox.controller.store.topic_corruption import rejection
from signalbox.controller.topics.assignment import manual_assignment
from signalbox.controller.topics.placement import Placement, PlacementRequest, place_replicas
from signalbox.controller.topics.topic_control import usable_racks
from signalbox.controller.visibility import all_led
from signalbox.metadata.layout import partition_state_path
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse

_Result = CreatePartitionsResponse.CreatePartitionsTopicResult
_Wanted = CreatePartitionsRequest.CreatePartitionsTopic


def create_partitions(context: ControllerContext, inputs: Inputs, request: CreatePartitionsRequest) -> Decision:
    """Records for every accepted topic, and a response with a result for each topic. Yields."""
    named = Counter(topic.name for topic in yielding(request.topics))
    too_many = _wanted_partitions(context, request, named) > MAX_PARTITIONS_PER_REQUEST
    results: dict[str, _Result] = {}
    records: list[Record] = []
    led: list[TopicPartition] = []
    counts: dict[str, int] = {}
    for wanted in yielding(request.topics):
        if wanted.name in results:
            continue
        try:
            if too_many:
                raise KafkaError(Error.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
            if named[wanted.name] > 1:
                raise KafkaError(Error.INVALID_REQUEST, "Duplicate topic in request.")
            topic, added = _added(context, inputs, wanted)
        except KafkaError as rejection:
            results[wanted.name] = _Result(
                name=wanted.name, error_code=rejection.error, error_message=rejection.message
            )
            continue
        results[wanted.name] = _Result(name=wanted.name, error_code=Error.NONE)
        replicas = {**topic.assignment.replicas, **added}
        counts[wanted.name] = len(replicas)
        records.append(TopicAssignmentChanged(wanted.name, replace(topic.assignment, replicas=replicas)))
        for number, brokers in added.items():
            partition = TopicPartition(wanted.name, number)
            state = first_state(context, partition, brokers)
            if state is not None:
                records.append(PartitionCreated(partition, state))
                led.append(partition)
    response = CreatePartitionsResponse(results=list(results.values()))
    if request.validate_only or not records:
        return Decision(response=response)
    topic_ids = {name: context.topics[name].topic_id for name in counts}
    return Decision(
        records=tuple(records),
        response=response,
        effects=(LeadersAnnounced(tuple(led), is_new=True),),
        visibility=Visibility(all_led(topic_ids, counts), request.timeout_ms, lambda: _late(response, set(counts))),
    )


def _wanted_partitions(context: ControllerContext, request: CreatePartitionsRequest, named: Counter[str]) -> int:
    """The number of partitions to place, without topics that cannot grow: they get their own error. Yields."""
    total = 0
    for wanted in yielding(request.topics):
        topic = context.usable_topic(wanted.name)
        if topic is None or named[wanted.name] > 1 or wanted.count > MAX_PARTITIONS_PER_TOPIC:
            continue
        more = max(wanted.count - len(topic.assignment.replicas), 0)
        total += more if wanted.assignments is None else len(wanted.assignments)
    return total


def _added(context: ControllerContext, inputs: Inputs, wanted: _Wanted) -> tuple[ControlledTopic, Placement]:
    topic, corruption = context.usable_topic(wanted.name), context.corrupt_topics.get(wanted.name)
    if topic is None and corruption is not None:
        raise rejection(wanted.name, corruption)
    if topic is None:
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{wanted.name}' does not exist.")
    replicas = topic.assignment.replicas
    have = len(replicas)
    if wanted.count == have:
        raise KafkaError(Error.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if wanted.count < have:
        raise KafkaError(
            Error.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {have} partition(s); {wanted.count} would not be an increase.",
        )
    if wanted.count > MAX_PARTITIONS_PER_TOPIC:
        raise KafkaError(
            Error.INVALID_PARTITIONS,
            f"{wanted.count} partitions: a topic has at most {MAX_PARTITIONS_PER_TOPIC} (MAX_PARTITIONS_PER_TOPIC).",
        )
    _reject_leftovers(context, topic, range(have, wanted.count))
    factor = len(topic.assignment.of(min(replicas)).targets)
    if wanted.assignments is None:
        return topic, _placed(context, inputs, topic, wanted.count - have, factor)
    if len(wanted.assignments) != wanted.count - have:
        raise KafkaError(
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"Attempted to add {wanted.count - have} additional partition(s), but only {len(wanted.assignments)}"
            " assignment(s) were specified.",
        )
    given = [(have + index, each.broker_ids) for index, each in enumerate(wanted.assignments)]
    return topic, manual_assignment(context, given, first_partition=have, replication_factor=factor)


def _reject_leftovers(context: ControllerContext, topic: ControlledTopic, wanted: range) -> None:
    """A state of a partition that the assignment does not have was left by another program: it is not overwritten."""
    for number in wanted:
        if number in topic.states or context.is_quarantined(TopicPartition(topic.name, number)):
            path = partition_state_path(topic.name, number)
            raise KafkaError(Error.INVALID_PARTITIONS, f"The metadata store has {path} already. Remove it first.")


def _placed(context: ControllerContext, inputs: Inputs, topic: ControlledTopic, count: int, factor: int) -> Placement:
    racks = usable_racks(context, factor)
    first_leader = topic.assignment.replicas[min(topic.assignment.replicas)][0]
    brokers = sorted(racks)
    start = brokers.index(first_leader) if first_leader in racks else 0
    wanted = PlacementRequest(count, factor, first_partition=len(topic.assignment.replicas), start=start)
    return place_replicas(racks, wanted, inputs.draw)


def _late(response: CreatePartitionsResponse, added: set[str]) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            _Result(
                name=each.name,
                error_code=Error.REQUEST_TIMED_OUT,
                error_message=Error.REQUEST_TIMED_OUT.message,
            )
            if each.name in added
            else each
            for each in response.results
        ]
    )
