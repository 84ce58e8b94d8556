"""The replicas that must be deleted before the deletion of a topic is complete."""

from __future__ import annotations

from collections.abc import Container

from signalbox.controller.context import ReplicaOfTopic
from signalbox.metadata.entries.topic_assignment import TopicAssignment


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
