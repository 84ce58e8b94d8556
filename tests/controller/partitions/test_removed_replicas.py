"""Removed replicas are deleted in the end, even if their broker was down meanwhile."""

from __future__ import annotations

from dataclasses import replace

from signalbox.controller.brokers.broker_control import brokers_changed
from signalbox.controller.context import ReplicaOfTopic
from signalbox.controller.decision import Decision, ReplicasStopped
from signalbox.controller.dispatch import housekeeping
from signalbox.controller.election.failover import take_over
from signalbox.controller.partitions.removed_replicas import delete_removed_replicas, replicas_removed
from signalbox.controller.records import TopicDeletionStarted
from signalbox.controller.topics.topic_deletion import delete_topics
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.controller.cluster import inputs
from tests.controller.contexts import after, live, make_context, placed, tp

CONTEXT = make_context(1, 2, topics={"t": {0: "1* removed 2 3", 1: "1* removed 2"}, "u": {0: "1*"}})
STOP_2 = ReplicasStopped(2, (tp(0), tp(1)), delete=True)


def test_living_brokers_are_asked() -> None:
    assert delete_removed_replicas(CONTEXT, [1, 2, 3]) == (STOP_2,)


def test_stop_replica_is_retried_at_a_failover_periodically_and_when_a_broker_joins() -> None:
    assert STOP_2 in take_over(CONTEXT, inputs()).effects
    assert STOP_2 in housekeeping(CONTEXT, inputs()).effects
    assert ReplicasStopped(3, (tp(0),), delete=True) in brokers_changed(CONTEXT, inputs(), live(1, 2, 3)).effects


def test_an_answer_ends_it() -> None:
    once = after(CONTEXT, replicas_removed(CONTEXT, "t", [ReplicaOfTopic(0, 2), ReplicaOfTopic(1, 2)]))
    assert (placed(once), placed(once, 1)) == ("1 removed 3", "1")
    assert replicas_removed(once, "t", [ReplicaOfTopic(0, 2)]) == Decision(), "reported twice"
    assert replicas_removed(once, "gone", [ReplicaOfTopic(0, 2)]) == Decision()


def test_a_topic_goes_with_what_living_brokers_still_hold_of_it() -> None:
    decision = delete_topics(CONTEXT, inputs(), DeleteTopicsRequest(topic_names=["t"], timeout_ms=9))
    assert decision.records == (TopicDeletionStarted("t"),)
    going = after(CONTEXT, decision)
    on_two = {ReplicaOfTopic(0, 2), ReplicaOfTopic(1, 2)}
    assert going.deleting["t"] == {ReplicaOfTopic(0, 1), ReplicaOfTopic(1, 1)} | on_two, "broker 3 may never return"
    assert STOP_2 in decision.effects
    assert delete_removed_replicas(going, [2]) == (), "the deletion asks"
    assert replicas_removed(replace(going, deleting=going.deleting), "t", on_two) == Decision()
