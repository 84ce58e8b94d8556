"""Replicas that the deletion of a topic waits for."""

from __future__ import annotations

from signalbox.controller.context import ReplicaOfTopic
from signalbox.controller.topics.replicas_to_delete import replicas_to_delete
from signalbox.metadata.entries.topic_assignment import TopicAssignment


def test_all_that_are_assigned_and_removed_ones_on_living_brokers() -> None:
    assignment = TopicAssignment(bytes(16), {0: (1, 2), 1: (2,)}, removed={0: (3, 4)})
    assert replicas_to_delete(assignment, {1, 3}) == {
        ReplicaOfTopic(0, 1),
        ReplicaOfTopic(0, 2),
        ReplicaOfTopic(1, 2),
        ReplicaOfTopic(0, 3),
    }
