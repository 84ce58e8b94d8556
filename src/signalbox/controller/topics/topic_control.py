"""CreateTopics as a decision. The handler does the authorization and the mutation quota.

If the request needs more partitions than one decision may place, all of it is rejected. Then the order of checks, per
topic: named twice, exists (or is under deletion), null config values, both sizes and assignment set, placement or
manual assignment, name and configs, policy. Each topic has its own error; the others are created.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from signalbox.common.config.topic_config import TOPIC_CONFIG, topic_config_problem
from signalbox.common.cooperative_task import yield_if_due, yielding
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.common.limits import MAX_PARTITIONS_PER_REQUEST
from signalbox.controller.context import BROKER_DEFAULT_ENTITY, ControllerContext, collision_name
from signalbox.controller.decision import Decision, Inputs, LeadersAnnounced, Visibility
from signalbox.controller.partitions.partition_control import first_state
from signalbox.controller.ports import PolicyViolation
from signalbox.controller.records import PartitionCreated, Record, TopicCreated
from signalbox.controller.store.topic_corruption import REMEDY
from signalbox.controller.topics.assignment import manual_assignment
from signalbox.controller.topics.placement import Placement, PlacementRequest, place_replicas
from signalbox.controller.topics.topic_name import colliding_topic, reject_topic_name
from signalbox.controller.visibility import all_led
from signalbox.metadata.effective_config import BrokerLevels, ConfigSource, effective_topic_configs
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.entries.topic_assignment import TopicAssignment
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

_Result = CreateTopicsResponse.CreatableTopicResult
_DEFAULTED = -1


@dataclass(frozen=True, slots=True)
class _NewTopic:
    name: str
    topic_id: bytes
    placement: Placement
    configs: Configs

    def assignment(self) -> TopicAssignment:
        return TopicAssignment(self.topic_id, self.placement)


def create_topics(context: ControllerContext, inputs: Inputs, request: CreateTopicsRequest) -> Decision:
    """Records for every accepted topic, and a response with a result for each topic. Yields."""
    named = Counter(topic.name for topic in yielding(request.topics))
    too_many = _wanted_partitions(inputs, request, named) > MAX_PARTITIONS_PER_REQUEST
    created: list[_NewTopic] = []
    results: dict[str, _Result] = {}
    batch_names: dict[str, str] = {}
    for wanted in yielding(request.topics):
        if wanted.name in results:
            continue
        try:
            _reject_crowd(wanted.name, named, too_many)
            topic = _decide_topic(context, inputs, wanted, batch_names)
        except KafkaError as rejection:
            results[wanted.name] = _rejected(wanted.name, rejection.error, rejection.message)
            continue
        batch_names[collision_name(topic.name)] = topic.name
        created.append(topic)
        results[wanted.name] = _accepted(context, inputs, topic, request.validate_only)
    response = CreateTopicsResponse(topics=list(results.values()))
    if request.validate_only or not created:
        return Decision(response=response)
    return _creation(context, created, response, request.timeout_ms)


def _creation(
    context: ControllerContext, created: Sequence[_NewTopic], response: CreateTopicsResponse, timeout_ms: int
) -> Decision:
    """Yields."""
    records: list[Record] = []
    led: list[TopicPartition] = []
    for topic in created:
        records.append(TopicCreated(topic.name, topic.assignment(), topic.configs))
        for number, replicas in topic.placement.items():
            yield_if_due()
            partition = TopicPartition(topic.name, number)
            state = first_state(context, partition, replicas)
            if state is not None:
                records.append(PartitionCreated(partition, state))
                led.append(partition)
    names = {topic.name for topic in created}
    return Decision(
        records=tuple(records),
        response=response,
        effects=(LeadersAnnounced(tuple(led), is_new=True),),
        visibility=Visibility(
            holds=all_led({topic.name: topic.topic_id for topic in created}, _counts(created)),
            timeout_ms=timeout_ms,
            when_late=lambda: _late(response, names),
        ),
    )


def _counts(created: Iterable[_NewTopic]) -> dict[str, int]:
    return {topic.name: len(topic.placement) for topic in created}


def _wanted_partitions(inputs: Inputs, request: CreateTopicsRequest, named: Counter[str]) -> int:
    """The number of partitions to place: topics named twice are not created, and invalid counts get their own error.
    Yields."""
    return sum(
        len(topic.assignments) or max(_partition_count(inputs, topic), 0)
        for topic in yielding(request.topics)
        if named[topic.name] == 1
    )


def _partition_count(inputs: Inputs, wanted: CreateTopicsRequest.CreatableTopic) -> int:
    return inputs.settings.num_partitions if wanted.num_partitions == _DEFAULTED else wanted.num_partitions


def _reject_crowd(name: str, named: Counter[str], too_many_partitions: bool) -> None:
    if too_many_partitions:
        raise KafkaError(Error.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    if named[name] > 1:
        raise KafkaError(Error.INVALID_REQUEST, "Duplicate topic name.")


def _decide_topic(
    context: ControllerContext, inputs: Inputs, wanted: CreateTopicsRequest.CreatableTopic, batch_names: dict[str, str]
) -> _NewTopic:
    name = wanted.name
    if name in context.topics:
        what = "is marked for deletion" if name in context.deleting else "already exists"
        raise KafkaError(Error.TOPIC_ALREADY_EXISTS, f"Topic '{name}' {what}.")
    if (corruption := context.corrupt_topics.get(name)) is not None:
        raise KafkaError(
            Error.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists, and cannot be read: {corruption}. {REMEDY}"
        )
    null_configs = sorted(config.name for config in wanted.configs if config.value is None)
    if null_configs:
        raise KafkaError(Error.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(null_configs)}")
    placement = _placement(context, inputs, wanted)
    if problem := reject_topic_name(name):
        raise KafkaError(Error.INVALID_TOPIC_EXCEPTION, problem)
    other = colliding_topic(name, context.collision_names) or colliding_topic(name, batch_names)
    if other is not None:
        raise KafkaError(Error.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")
    configs = {config.name: config.value or "" for config in wanted.configs}
    reject_topic_configs(configs)
    _ask_policy(inputs, wanted, placement, configs)
    return _NewTopic(name, inputs.new_uuid(), placement, configs)


def _placement(context: ControllerContext, inputs: Inputs, wanted: CreateTopicsRequest.CreatableTopic) -> Placement:
    if wanted.assignments:
        given_twice = {
            "replication factor": wanted.replication_factor != _DEFAULTED,
            "numPartitions": wanted.num_partitions != _DEFAULTED,
        }
        for field, is_set in given_twice.items():
            if is_set:
                raise KafkaError(
                    Error.INVALID_REQUEST,
                    f"A manual partition assignment was specified, but {field} was not set to -1.",
                )
        given = [(each.partition_index, each.broker_ids) for each in wanted.assignments]
        return manual_assignment(context, given, first_partition=0)
    settings = inputs.settings
    partitions = _partition_count(inputs, wanted)
    factor = (
        settings.default_replication_factor if wanted.replication_factor == _DEFAULTED else wanted.replication_factor
    )
    return place_replicas(usable_racks(context, factor), PlacementRequest(partitions, factor), inputs.draw)


def usable_racks(context: ControllerContext, replication_factor: int) -> dict[int, str | None]:
    """Racks of the brokers for new replicas: brokers that are shutting down only if there are too few others."""
    racks = {broker_id: broker.registration.rack for broker_id, broker in context.brokers.items()}
    staying = {broker_id: rack for broker_id, rack in racks.items() if broker_id not in context.shutting_down}
    return staying if len(staying) >= replication_factor else racks


def reject_topic_configs(configs: Configs) -> None:
    """INVALID_CONFIG for the first unknown key or invalid value, and for values that exclude each other."""
    for name, value in configs.items():
        row = TOPIC_CONFIG.get(name)
        if row is None:
            raise KafkaError(Error.INVALID_CONFIG, f"Unknown topic config name: {name}")
        try:
            row.parse(value)
        except ValueError as problem:
            raise KafkaError(
                Error.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {problem}"
            ) from problem
    if together := topic_config_problem(configs):
        raise KafkaError(Error.INVALID_CONFIG, together)


def _ask_policy(
    inputs: Inputs, wanted: CreateTopicsRequest.CreatableTopic, placement: Placement, configs: Configs
) -> None:
    if inputs.create_topic_policy is None:
        return
    by_hand = bool(wanted.assignments)
    try:
        inputs.create_topic_policy.validate(
            wanted.name,
            None if by_hand else len(placement),
            None if by_hand else len(placement[0]),
            placement if by_hand else None,
            configs,
        )
    except PolicyViolation as violation:
        raise KafkaError(Error.POLICY_VIOLATION, str(violation)) from violation


def _accepted(context: ControllerContext, inputs: Inputs, topic: _NewTopic, validate_only: bool) -> _Result:
    levels = BrokerLevels(
        dynamic_broker=context.configs.get(f"brokers/{context.controller_id}", {}),
        dynamic_default=context.configs.get(BROKER_DEFAULT_ENTITY, {}),
        static=inputs.settings.static_configs,
    )
    return _Result(
        name=topic.name,
        topic_id=ZERO_UUID if validate_only else topic.topic_id,
        error_code=Error.NONE,
        error_message=None,
        num_partitions=len(topic.placement),
        replication_factor=len(topic.placement[0]),
        configs=[
            CreateTopicsResponse.CreatableTopicConfigs(
                name=each.row.name,
                value=each.value,
                read_only=False,
                config_source=ConfigSource(each.source),
                is_sensitive=False,
            )
            for each in effective_topic_configs(topic.configs, levels)
        ],
    )


def _rejected(name: str, error: Error, message: str) -> _Result:
    return _Result(name=name, error_code=error, error_message=message)


def _late(response: CreateTopicsResponse, created: set[str]) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        throttle_time_ms=response.throttle_time_ms,
        topics=[
            _rejected(each.name, Error.REQUEST_TIMED_OUT, Error.REQUEST_TIMED_OUT.message)
            if each.name in created
            else each
            for each in response.topics
        ],
    )
