"""CreatePartitions: the number of partitions can only grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from signalbox.common.limits import MAX_PARTITIONS_PER_REQUEST, MAX_PARTITIONS_PER_TOPIC
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, LeadersAnnounced
from signalbox.controller.partitions.reassignment import finish_moves
from signalbox.controller.topics.partition_creation import create_partitions
from signalbox.metadata.entries.topic_assignment import TopicAssignment, decode_topic_assignment
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import after, make_context, placed, state_text, states, topic_id, tp

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


@pytest.mark.parametrize("by_hand", [None, [[3, 1]]])
@pytest.mark.parametrize(
    ("moving", "factor"),
    [
        ("3 1* 2 isr 1 2 adding 3 removing 2", 2),  # {1, 2} to {3, 1}
        ("1* 2 3 isr 1 2 adding 3", 3),
        ("1* 2 3 isr 1 2 3 removing 2 3", 1),
    ],
)
def test_a_topic_grows_during_a_reassignment_with_the_factor_of_its_targets(
    moving: str, factor: int, by_hand: list[list[int]] | None
) -> None:
    context = make_context(1, 2, 3, topics={"t": {0: moving, 1: "2* 3"}})
    request = CreatePartitionsRequest(topics=[wanted("t", 3, by_hand)], timeout_ms=5)
    decision = create_partitions(context, inputs(), request)
    if by_hand is not None and factor != 2:
        assert (errors(decision), decision.records) == ([Error.INVALID_REPLICA_ASSIGNMENT], ())
        return
    assert errors(decision) == [Error.NONE]
    before, grown = context.topics["t"].assignment, after(context, decision).topics["t"].assignment
    assert len(grown.replicas[2]) == factor
    assert replace(grown, replicas=before.replicas) == before
    assert decode_topic_assignment("t", grown.encode()) == grown


@pytest.mark.parametrize("grow_first", [True, False])
def test_growing_and_the_end_of_a_reassignment_in_either_order_write_the_same(grow_first: bool) -> None:
    """The reassignment ends with its targets only, the new partition stays."""
    context = make_context(1, 2, 3, topics={"t": {0: "3 1* 2 isr 1 2 3 adding 3 removing 2", 1: "2* 3"}})
    request = CreatePartitionsRequest(topics=[wanted("t", 3, [[2, 1]])], timeout_ms=5)

    def grow(before: ControllerContext) -> ControllerContext:
        return after(before, create_partitions(before, inputs(), request))

    def finish(before: ControllerContext) -> ControllerContext:
        return after(before, finish_moves(before))

    done = finish(grow(context)) if grow_first else grow(finish(context))
    assert placed(done) == "3 1 removed 2"
    assert (placed(done, 1), placed(done, 2), list(done.moving())) == ("2 3", "2 1", [])
    assert state_text(done.state(tp(2))) == "2/0/0 isr 2 1"


def test_after_the_timeout_added_partitions_get_request_timed_out() -> None:
    decision = decide(wanted("t", 3), wanted("none", 1))
    assert decision.visibility is not None
    late = decision.visibility.when_late()
    assert isinstance(late, CreatePartitionsResponse)
    assert [each.error_code for each in late.results] == [
        Error.REQUEST_TIMED_OUT,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    ]
