"""DeleteTopics, and the steps of a topic's deletion."""

from __future__ import annotations

from dataclasses import replace

from signalbox.common.ids import ZERO_UUID
from signalbox.controller.context import ReplicaOfTopic
from signalbox.controller.decision import Decision, MetadataAnnounced, ReplicasStopped
from signalbox.controller.records import TopicDeleted, TopicDeletionRejected, TopicDeletionStarted
from signalbox.controller.topics.topic_deletion import (
    delete_topics,
    partitions_under_deletion,
    reject_pending_deletions,
    replicas_deleted,
    replicas_to_delete,
    retry_replica_deletions,
)
from signalbox.metadata.entries.topic_assignment import TopicAssignment
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import after, make_context, topic_id, tp

State = DeleteTopicsRequest.DeleteTopicState
CONTEXT = make_context(1, 2, topics={"t": {0: "1* 2", 1: "2* 3"}, "u": {0: "1*"}})


def results(decision: Decision) -> list[tuple[str | None, bytes, Error]]:
    assert isinstance(decision.response, DeleteTopicsResponse)
    return [(each.name, each.topic_id, Error.of(each.error_code)) for each in decision.response.responses]


def decide(*topics: State) -> Decision:
    return delete_topics(CONTEXT, inputs(), DeleteTopicsRequest(topics=list(topics), timeout_ms=9))


def test_a_topic_is_marked_announced_and_stopped() -> None:
    decision = delete_topics(CONTEXT, inputs(), DeleteTopicsRequest(topic_names=["t"], timeout_ms=9))
    assert results(decision) == [("t", topic_id("t"), Error.NONE)]
    assert decision.records == (TopicDeletionStarted("t"),)
    # Broker 3 is down: its replica is deleted after its return.
    assert decision.effects == (
        MetadataAnnounced((tp(0), tp(1))),
        ReplicasStopped(1, (tp(0),), delete=True),
        ReplicasStopped(2, (tp(0), tp(1)), delete=True),
    )
    assert decision.visibility is not None
    assert decision.visibility.timeout_ms == 9


def test_by_id() -> None:
    assert results(decide(State(topic_id=topic_id("t")))) == [("t", topic_id("t"), Error.NONE)]


def test_rejections() -> None:
    decision = decide(
        State(name="none"),
        State(topic_id=b"?" * 16),
        State(name="t", topic_id=topic_id("t")),
        State(),
        State(name="u"),
        State(topic_id=topic_id("u")),
    )
    assert [error for _, _, error in results(decision)] == [
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.UNKNOWN_TOPIC_ID,
        Error.INVALID_REQUEST,
        Error.INVALID_REQUEST,
        Error.INVALID_REQUEST,  # u, by name and by id: one result
    ]
    assert decision.records == ()


def test_deletion_can_be_disabled() -> None:
    request = DeleteTopicsRequest(topic_names=["t"], timeout_ms=9)
    decision = delete_topics(CONTEXT, inputs(delete_topic_enable=False), request)
    assert results(decision) == [("t", ZERO_UUID, Error.TOPIC_DELETION_DISABLED)]


def test_a_second_request_waits_with_the_first() -> None:
    going = after(CONTEXT, decide(State(name="t")))
    decision = delete_topics(going, inputs(), DeleteTopicsRequest(topic_names=["t"], timeout_ms=9))
    assert (results(decision)[0][2], decision.records) == (Error.NONE, ())
    assert decision.visibility is not None


def test_lateness() -> None:
    decision = decide(State(name="t"), State(name="none"))
    assert decision.visibility is not None
    late = Decision(response=decision.visibility.when_late())
    assert [error for _, _, error in results(late)] == [Error.REQUEST_TIMED_OUT, Error.UNKNOWN_TOPIC_OR_PARTITION]


def test_the_topic_is_forgotten_with_its_last_replica() -> None:
    going = after(CONTEXT, decide(State(name="t")))
    first = replicas_deleted(going, "t", [ReplicaOfTopic(0, 1), ReplicaOfTopic(0, 2), ReplicaOfTopic(1, 2)])
    assert not any(isinstance(record, TopicDeleted) for record in first.records)
    left = after(going, first)
    assert left.deleting["t"] == {ReplicaOfTopic(1, 3)}
    # Broker 3 comes back and gets StopReplica; its response ends the deletion.
    back = replace(left, brokers={**left.brokers, **make_context(3).brokers})
    assert retry_replica_deletions(back, [1, 2, 3]) == (ReplicasStopped(3, (tp(1),), delete=True),)
    gone = after(back, replicas_deleted(back, "t", [ReplicaOfTopic(1, 3)]))
    assert "t" not in gone.topics
    assert (dict(gone.deleting), gone.topic_names.get(topic_id("t"))) == ({}, None)
    assert replicas_deleted(gone, "t", [ReplicaOfTopic(1, 3)]) == Decision()


def test_the_dead_are_not_asked() -> None:
    going = after(CONTEXT, decide(State(name="t")))
    assert retry_replica_deletions(going, [3]) == ()


def test_marks_at_a_failover() -> None:
    marked = replace(CONTEXT, deleting={"t": frozenset(), "unknown": frozenset()})
    assert reject_pending_deletions(marked, inputs()) == (TopicDeletionRejected("unknown"),)
    assert reject_pending_deletions(marked, inputs(delete_topic_enable=False)) == (
        TopicDeletionRejected("t"),
        TopicDeletionRejected("unknown"),
    )
    assert partitions_under_deletion(marked) == (tp(0), tp(1))


def test_all_that_are_assigned_and_removed_ones_on_living_brokers() -> None:
    assignment = TopicAssignment(bytes(16), {0: (1, 2), 1: (2,)}, removed={0: (3, 4)})
    assert replicas_to_delete(assignment, {1, 3}) == {
        ReplicaOfTopic(0, 1),
        ReplicaOfTopic(0, 2),
        ReplicaOfTopic(1, 2),
        ReplicaOfTopic(0, 3),
    }
