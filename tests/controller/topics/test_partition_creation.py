"""CreatePartitions: the number of partitions can only grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from signalbox.common.limits import MAX_PARTITIONS_PER_REQUEST, MAX_PARTITIONS_PER_TOPIC
from signalbox.controller.decision import Decision, LeadersAnnounced
from signalbox.controller.topics.partition_creation import create_partitions
from signalbox.metadata.entries.topic_assignment import TopicAssignment
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import after, make_context, states, topic_id, tp

CONTEXT = make_context(
    1, 2, 3, topics={"t": {0: "1* 2", 1: "2* 3"}, "going": {0: "1*"}}, deleting={"going": frozenset()}
)


def wanted(
    name: str, count: int, assignments: Sequence[list[int]] | None = None
) -> CreatePartitionsRequest.CreatePartitionsTopic:
    made = None
    if assignments is not None:
        made = [CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=each) for each in assignments]
    return CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=made)


def decide(*topics: CreatePartitionsRequest.CreatePartitionsTopic, validate_only: bool = False) -> Decision:
    request = CreatePartitionsRequest(topics=list(topics), timeout_ms=5, validate_only=validate_only)
    return create_partitions(CONTEXT, inputs(), request)


def errors(decision: Decision) -> list[Error]:
    assert isinstance(decision.response, CreatePartitionsResponse)
    return [Error.of(each.error_code) for each in decision.response.results]


def test_partitions_are_added_with_the_topics_factor() -> None:
    decision = decide(wanted("t", 4))
    assert errors(decision) == [Error.NONE]
    assert states(decision) == {"t-2": "3/0/0 isr 3 1", "t-3": "1/0/0 isr 1 3"}
    assert decision.effects == (LeadersAnnounced((tp(2), tp(3)), is_new=True),)
    grown = after(CONTEXT, decision).topics["t"].assignment
    assert grown == TopicAssignment(topic_id("t"), {0: (1, 2), 1: (2, 3), 2: (3, 1), 3: (1, 3)})


def test_partitions_assigned_by_hand() -> None:
    assert states(decide(wanted("t", 3, [[3, 1]]))) == {"t-2": "3/0/0 isr 3 1"}


def test_validate_only_changes_nothing() -> None:
    decision = decide(wanted("t", 4), validate_only=True)
    assert (errors(decision), decision.records, decision.visibility) == ([Error.NONE], (), None)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (wanted("none", 3), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (wanted("going", 3), Error.UNKNOWN_TOPIC_OR_PARTITION),
        (wanted("t", 2), Error.INVALID_PARTITIONS),
        (wanted("t", 1), Error.INVALID_PARTITIONS),
        (wanted("t", MAX_PARTITIONS_PER_TOPIC + 1), Error.INVALID_PARTITIONS),
        (wanted("t", 4, [[1, 2]]), Error.INVALID_REPLICA_ASSIGNMENT),
        (wanted("t", 3, [[1]]), Error.INVALID_REPLICA_ASSIGNMENT),
        (wanted("t", 3, [[1, 9]]), Error.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_rejections(topic: CreatePartitionsRequest.CreatePartitionsTopic, error: Error) -> None:
    decision = decide(topic)
    assert (errors(decision), decision.records) == ([error], ())


def test_twice_and_others() -> None:
    decision = decide(wanted("t", 3), wanted("t", 4), wanted("none", 1))
    assert errors(decision) == [Error.INVALID_REQUEST, Error.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("by_hand", [None, [[1, 2]] * (MAX_PARTITIONS_PER_REQUEST - 1)])
def test_partitions_are_counted_over_the_whole_request(by_hand: list[list[int]] | None) -> None:
    context = make_context(1, 2, topics={"t": {0: "1* 2"}, "u": {0: "1*"}})
    for more, rejected in ((1, False), (2, True)):
        topics = [wanted("t", MAX_PARTITIONS_PER_REQUEST, by_hand), wanted("u", 1 + more), wanted("none", 5)]
        request = CreatePartitionsRequest(topics=topics, timeout_ms=5, validate_only=True)
        expected = [Error.NONE, Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION]
        decision = create_partitions(context, inputs(), request)
        assert errors(decision) == ([Error.POLICY_VIOLATION] * 3 if rejected else expected)


def test_a_running_reassignment_is_in_the_way() -> None:
    topic = CONTEXT.topics["t"]
    moving = replace(topic, assignment=replace(topic.assignment, adding={0: (3,)}))
    context = replace(CONTEXT, topics={"t": moving})
    request = CreatePartitionsRequest(topics=[wanted("t", 3)], timeout_ms=5)
    assert errors(create_partitions(context, inputs(), request)) == [Error.REASSIGNMENT_IN_PROGRESS]


def test_after_the_timeout_added_partitions_get_request_timed_out() -> None:
    decision = decide(wanted("t", 3), wanted("none", 1))
    assert decision.visibility is not None
    late = decision.visibility.when_late()
    assert isinstance(late, CreatePartitionsResponse)
    assert [each.error_code for each in late.results] == [
        Error.REQUEST_TIMED_OUT,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    ]
