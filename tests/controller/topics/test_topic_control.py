"""CreateTopics: accepted and rejected topics, and the order of the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from signalbox.common.ids import ZERO_UUID
from signalbox.common.limits import MAX_PARTITIONS_PER_REQUEST
from signalbox.controller.decision import Decision, LeadersAnnounced
from signalbox.controller.ports import PolicyViolation
from signalbox.controller.records import TopicCreated
from signalbox.controller.topics.topic_control import create_topics
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import after, live, make_context, states, tp

Topic = CreateTopicsRequest.CreatableTopic


def topic(name: str, partitions: int = -1, factor: int = -1, configs: Mapping[str, str | None] | None = None) -> Topic:
    given = [CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    return Topic(name=name, num_partitions=partitions, replication_factor=factor, configs=given)


def assigned(name: str, assignment: Sequence[tuple[int, list[int]]], **fields: Any) -> Topic:
    made = [
        CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
        for index, brokers in assignment
    ]
    return Topic(name=name, assignments=made, **{"num_partitions": -1, "replication_factor": -1, **fields})


def response_of(decision: Decision) -> CreateTopicsResponse:
    assert isinstance(decision.response, CreateTopicsResponse)
    return decision.response


CONTEXT = make_context(1, 2, 3, topics={"old": {0: "1*"}, "a.b": {0: "1*"}})


def decide(*topics: Topic, **fields: Any) -> Decision:
    request = CreateTopicsRequest(topics=list(topics), **{"timeout_ms": 1_000, **fields})
    return create_topics(CONTEXT, inputs(), request)


def rejection(*topics: Topic) -> tuple[Error, str]:
    decision = decide(*topics)
    assert decision.records == ()
    result = response_of(decision).topics[-1]
    return Error.of(result.error_code), result.error_message or ""


def test_a_topic_is_placed_and_led() -> None:
    decision = decide(topic("t", 3, 3, {"retention.ms": "9"}))
    [result] = response_of(decision).topics
    assert (result.name, result.error_code, result.num_partitions, result.replication_factor) == ("t", 0, 3, 3)
    assert result.error_message is None, "as Kafka answers; an empty text is a text"
    assert states(decision) == {"t-0": "1/0/0 isr 1 2 3", "t-1": "2/0/0 isr 2 3 1", "t-2": "3/0/0 isr 3 1 2"}
    assert decision.effects == (LeadersAnnounced((tp(0), tp(1), tp(2)), is_new=True),)
    [created] = [each for each in decision.records if isinstance(each, TopicCreated)]
    assert created.configs == {"retention.ms": "9"}
    assert created.assignment.topic_id == result.topic_id != ZERO_UUID
    configs = {each.name: (each.value, each.config_source) for each in result.configs or ()}
    assert configs["retention.ms"] == ("9", 1)
    assert configs["min.insync.replicas"] == ("1", 5)


def test_broker_levels_show_in_the_answer() -> None:
    context = replace(CONTEXT, configs={"brokers/<default>": {"log.retention.ms": "8"}})
    given = inputs(static_configs={"min.insync.replicas": "2"})
    decision = create_topics(context, given, CreateTopicsRequest(topics=[topic("t")], timeout_ms=1))
    configs = {each.name: (each.value, each.config_source) for each in response_of(decision).topics[0].configs or ()}
    assert configs["retention.ms"] == ("8", 3)
    assert configs["min.insync.replicas"] == ("2", 4)


def test_defaults_are_the_servers() -> None:
    request = CreateTopicsRequest(topics=[topic("t")], timeout_ms=1)
    decision = create_topics(CONTEXT, inputs(num_partitions=2, default_replication_factor=3), request)
    [result] = response_of(decision).topics
    assert (result.num_partitions, result.replication_factor) == (2, 3)


def test_assignments_by_hand() -> None:
    decision = decide(assigned("t", [(1, [2, 3]), (0, [3, 1])]))
    assert states(decision) == {"t-0": "3/0/0 isr 3 1", "t-1": "2/0/0 isr 2 3"}


def test_validate_only_decides_and_changes_nothing() -> None:
    decision = decide(topic("t", 3, 3), topic("old"), validate_only=True)
    assert (decision.records, decision.effects, decision.visibility) == ((), (), None)
    first, second = response_of(decision).topics
    assert (first.error_code, first.num_partitions, first.topic_id) == (Error.NONE, 3, ZERO_UUID)
    assert second.error_code == Error.TOPIC_ALREADY_EXISTS


def test_one_rejected_topic_does_not_stop_the_others() -> None:
    decision = decide(topic("old"), topic("t", 1, 1))
    assert [(each.name, each.error_code) for each in response_of(decision).topics] == [
        ("old", Error.TOPIC_ALREADY_EXISTS),
        ("t", Error.NONE),
    ]
    assert set(states(decision)) == {"t-0"}


def test_a_topic_named_twice_is_rejected_once() -> None:
    decision = decide(topic("t"), topic("u"), topic("t"))
    assert [(each.name, each.error_code) for each in response_of(decision).topics] == [
        ("t", Error.INVALID_REQUEST),
        ("u", Error.NONE),
    ]


@pytest.mark.parametrize(
    ("wanted", "error", "words"),
    [
        (topic("old"), Error.TOPIC_ALREADY_EXISTS, "already exists"),
        (topic("t", configs={"retention.ms": None}), Error.INVALID_CONFIG, "Null value"),
        (assigned("t", [(0, [1])], num_partitions=1), Error.INVALID_REQUEST, "but numPartitions was not set to -1."),
        (assigned("t", [(0, [1])], replication_factor=1), Error.INVALID_REQUEST, "but replication factor was not set"),
        (topic("t", 0), Error.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."),
        (topic("t", MAX_PARTITIONS_PER_REQUEST + 1), Error.POLICY_VIOLATION, "Excessively large"),
        (topic("t", 1, 0), Error.INVALID_REPLICATION_FACTOR, "larger than 0"),
        (topic("t", 1, 4), Error.INVALID_REPLICATION_FACTOR, "Unable to replicate the partition 4 time(s): The target"),
        (assigned("t", [(0, [1, 1])]), Error.INVALID_REPLICA_ASSIGNMENT, "includes the broker 1 more than once."),
        (assigned("t", [(0, [])]), Error.INVALID_REPLICA_ASSIGNMENT, "includes an empty replica list."),
        (assigned("t", [(1, [1])]), Error.INVALID_REPLICA_ASSIGNMENT, "consecutive"),
        (assigned("t", [(0, [1]), (0, [2])]), Error.INVALID_REPLICA_ASSIGNMENT, "Found multiple manual partition"),
        (assigned("t", [(0, [1]), (1, [1, 2])]), Error.INVALID_REPLICA_ASSIGNMENT, "with 2 replica(s), but this"),
        (assigned("t", [(0, [9])]), Error.INVALID_REPLICA_ASSIGNMENT, "includes broker 9, but no such broker is"),
        (topic("a b", 1), Error.INVALID_TOPIC_EXCEPTION, "ASCII alphanumerics"),
        (topic("a_b", 1), Error.INVALID_TOPIC_EXCEPTION, "collides with existing topic: a.b"),
        (topic("t", configs={"no.such": "1"}), Error.INVALID_CONFIG, "Unknown topic config name: no.such"),
        (topic("t", configs={"retention.ms": "soon"}), Error.INVALID_CONFIG, "retention.ms"),
        (topic("t", configs={"min.insync.replicas": "0"}), Error.INVALID_CONFIG, "min.insync.replicas"),
        (
            topic("t", configs={"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"}),
            Error.INVALID_CONFIG,
            "(2) > ",
        ),
        # The order of checks: placement comes before the name, the name before the configs.
        (topic("a b", 0, configs={"no.such": "1"}), Error.INVALID_PARTITIONS, ""),
        (topic("a b", 1, configs={"no.such": "1"}), Error.INVALID_TOPIC_EXCEPTION, ""),
    ],
)
def test_rejections(wanted: Topic, error: Error, words: str) -> None:
    rejected, message = rejection(wanted)
    assert rejected is error
    assert words in message


def test_names_of_one_request_collide_too() -> None:
    decision = decide(topic("x.y"), topic("x_y"))
    assert [each.error_code for each in response_of(decision).topics] == [Error.NONE, Error.INVALID_TOPIC_EXCEPTION]


def test_a_topic_on_its_way_out_still_exists() -> None:
    context = replace(CONTEXT, deleting={"old": frozenset()})
    decision = create_topics(context, inputs(), CreateTopicsRequest(topics=[topic("old")], timeout_ms=1))
    [result] = response_of(decision).topics
    assert result.error_code == Error.TOPIC_ALREADY_EXISTS
    assert "marked for deletion" in (result.error_message or "")


def no_placement(broker_count: int) -> int:
    raise AssertionError("placement has begun")


@pytest.mark.parametrize(
    "wanted",
    [
        [topic(f"t{number}", MAX_PARTITIONS_PER_REQUEST) for number in range(1000)],
        [topic("t", MAX_PARTITIONS_PER_REQUEST), assigned("u", [(0, [1])])],
        [assigned("t", [(number, [1]) for number in range(MAX_PARTITIONS_PER_REQUEST)]), topic("u")],
    ],
)
@pytest.mark.parametrize("validate_only", [False, True])
def test_partitions_are_counted_over_the_whole_request(wanted: list[Topic], validate_only: bool) -> None:
    request = CreateTopicsRequest(topics=wanted, timeout_ms=1, validate_only=validate_only)
    decision = create_topics(CONTEXT, replace(inputs(), draw=no_placement), request)
    results = response_of(decision).topics
    assert [each.name for each in results] == [each.name for each in wanted]
    assert {(each.error_code, each.error_message) for each in results} == {
        (Error.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    }
    assert decision.records == ()


def test_what_cannot_be_created_does_not_count() -> None:
    many = MAX_PARTITIONS_PER_REQUEST
    decision = decide(topic("t", many, 1), topic("u", many), topic("u", many), topic("v", -5), validate_only=True)
    assert [(each.name, each.error_code) for each in response_of(decision).topics] == [
        ("t", Error.NONE),
        ("u", Error.INVALID_REQUEST),
        ("v", Error.INVALID_PARTITIONS),
    ]


class Rejecting:
    """A policy that records its calls and rejects topic `no`."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def validate(self, topic: str, *details: Any) -> None:
        self.asked.append((topic, *details))
        if topic == "no":
            raise PolicyViolation("not on my broker")


def test_policies_are_asked_last_and_for_validate_only_too() -> None:
    policy = Rejecting()
    given = replace(inputs(), create_topic_policy=policy)
    wanted = [topic("no", 1, 1), topic("t", 2, 1, {"retention.ms": "1"}), assigned("u", [(0, [2])]), topic("old")]
    request = CreateTopicsRequest(topics=wanted, timeout_ms=1, validate_only=True)
    results = response_of(create_topics(CONTEXT, given, request)).topics
    assert [each.error_code for each in results] == [
        Error.POLICY_VIOLATION, Error.NONE, Error.NONE, Error.TOPIC_ALREADY_EXISTS,
    ]  # fmt: skip
    assert results[0].error_message == "not on my broker"
    assert policy.asked == [
        ("no", 1, 1, None, {}),
        ("t", 2, 1, None, {"retention.ms": "1"}),
        ("u", None, None, {0: (2,)}, {}),
    ]


def test_brokers_that_leave_get_replicas_only_in_need() -> None:
    context = make_context(1, 2, 3, shutting_down=frozenset({1}))
    one = create_topics(context, inputs(), CreateTopicsRequest(topics=[topic("t", 3, 2)], timeout_ms=1))
    assert all("1" not in isr.split(" isr ")[1].split() for isr in states(one).values())
    three = create_topics(context, inputs(), CreateTopicsRequest(topics=[topic("t", 1, 3)], timeout_ms=1))
    assert states(three) == {"t-0": "2/0/0 isr 2 3"}


def test_the_answer_waits_for_leaders_and_says_when_they_are_late() -> None:
    decision = decide(topic("t", 1, 1), topic("old"), timeout_ms=77)
    visibility = decision.visibility
    assert visibility is not None
    assert visibility.timeout_ms == 77
    late = visibility.when_late()
    assert isinstance(late, CreateTopicsResponse)
    assert [each.error_code for each in late.topics] == [Error.REQUEST_TIMED_OUT, Error.TOPIC_ALREADY_EXISTS]


def test_what_was_created_is_known_afterwards() -> None:
    context = after(CONTEXT, decide(topic("x.y", 2, 2)))
    assert context.topics["x.y"].assignment.replicas == {0: (1, 2), 1: (2, 3)}
    assert context.topic_names[context.topics["x.y"].topic_id] == "x.y"
    again = create_topics(context, inputs(), CreateTopicsRequest(topics=[topic("x_y", 1)], timeout_ms=1))
    assert response_of(again).topics[0].error_code == Error.INVALID_TOPIC_EXCEPTION
    assert context.brokers == live(1, 2, 3)
