"""Deletion of replicas that a reassignment has removed, also across failures of the controller or of their brokers.

The topic's assignment keeps them (`removed`) until their broker has responded to StopReplica. The request is retried
for a broker that joins, and for all of them at a failover and in the housekeeping.
"""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext, ReplicaOfTopic
from signalbox.controller.decision import Decision, Effect, ReplicasStopped
from signalbox.controller.records import TopicAssignmentChanged


def delete_removed_replicas(context: ControllerContext, broker_ids: Iterable[int]) -> tuple[Effect, ...]:
    """StopReplica for all replicas that these brokers should not have any more, but not for quarantined partitions."""
    asked = frozenset(broker_ids) & context.brokers.keys()
    left: dict[int, list[TopicPartition]] = {}
    for topic in context.topics.values():
        if topic.assignment.removed and topic.name not in context.deleting:
            for number, brokers in topic.assignment.removed.items():
                partition = TopicPartition(topic.name, number)
                for broker_id in () if context.is_quarantined(partition) else asked.intersection(brokers):
                    left.setdefault(broker_id, []).append(partition)
    return tuple(ReplicasStopped(broker_id, tuple(partitions), delete=True) for broker_id, partitions in left.items())


def replicas_removed(context: ControllerContext, name: str, replicas: Iterable[ReplicaOfTopic]) -> Decision:
    """A broker has deleted these replicas of a topic that is not under deletion."""
    topic = context.usable_topic(name)
    if topic is None:
        return Decision()
    after = topic.assignment
    for replica in replicas:
        if replica.broker_id in after.removed.get(replica.partition, ()):
            after = after.without_removed([replica.partition], replica.broker_id)
    return Decision() if after is topic.assignment else Decision(records=(TopicAssignmentChanged(name, after),))
