"""The controller's gauges under Kafka's names (`kafka.controller:type=KafkaController`); 0 off the active controller.

Counts are taken when somebody scrapes: nothing is paid for in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from signalbox.common.ids import TopicPartition
from signalbox.common.long_work import breathe
from signalbox.common.metrics import MetricName, Metrics
from signalbox.controller.context import ControllerContext
from signalbox.controller.partition_control import is_offline

_GROUP = "kafka.controller"
DECISION_TO_LEADER_AND_ISR = MetricName(_GROUP, "ControllerChannelManager", "DecisionToLeaderAndIsrAppliedMs")
"""Ours: from the beginning of a decision to each broker's answer that it has carried it out."""


class MeasuredQueue(Protocol):
    """Its length, and what a store without room does to it."""

    @property
    def held(self) -> int: ...

    @property
    def refusals_total(self) -> int: ...

    def __len__(self) -> int: ...


class Measured(Protocol):
    """The controller as its gauges see it."""

    @property
    def is_active(self) -> bool: ...

    @property
    def context(self) -> ControllerContext | None: ...

    @property
    def queue(self) -> MeasuredQueue: ...


def _partitions(context: ControllerContext) -> Iterator[TopicPartition]:
    """All partitions; topics may come and go meanwhile."""
    for name, topic in list(context.topics.items()):
        for index in () if name in context.deleting else list(topic.assignment.replicas):
            yield TopicPartition(name, index)


def offline_partitions(context: ControllerContext) -> int:
    """Partitions without a living leader."""
    count = 0
    for partition in _partitions(context):
        count += is_offline(context, partition)
        breathe()
    return count


def imbalanced_partitions(context: ControllerContext) -> int:
    """Partitions that their preferred replica does not lead."""
    count = 0
    for partition in _partitions(context):
        state, replicas = context.state(partition), context.replicas(partition)
        count += bool(replicas) and (state is None or state.leader != replicas[0])  # it may be gone meanwhile
        breathe()
    return count


_COUNTS: dict[str, Callable[[ControllerContext], int]] = {
    "OfflinePartitionsCount": offline_partitions,
    "PreferredReplicaImbalanceCount": imbalanced_partitions,
    "GlobalTopicCount": lambda context: len(context.topics),
    "GlobalPartitionCount": lambda context: sum(len(topic.assignment.replicas) for topic in context.topics.values()),
    "UnreadableTopicCount": lambda context: len(context.damaged),  # ours: Kafka's controller fails on such a topic
    "TopicsToDeleteCount": lambda context: len(context.deleting),
    "ReplicasToDeleteCount": lambda context: sum(map(len, context.deleting.values())),
    "ActiveBrokerCount": lambda context: len(context.brokers),
    "ShuttingDownBrokerCount": lambda context: len(context.shutting_down),
}


def measure_controller(metrics: Metrics, controller: Measured) -> None:
    """Register all gauges of a controller."""
    metrics.gauge(MetricName(_GROUP, "KafkaController", "ActiveControllerCount"), lambda: int(controller.is_active))
    metrics.gauge(MetricName(_GROUP, "ControllerEventManager", "EventQueueSize"), lambda: len(controller.queue))
    # Of our own: a store without room (its disk is full) refuses changes and holds elections.
    metrics.gauge(MetricName(_GROUP, "KafkaController", "StoreFullRefusals"), lambda: controller.queue.refusals_total)
    metrics.gauge(MetricName(_GROUP, "KafkaController", "StoreFullHeldEvents"), lambda: controller.queue.held)
    for name, count in _COUNTS.items():
        metrics.gauge(MetricName(_GROUP, "KafkaController", name), _reading(controller, count))


def _reading(controller: Measured, count: Callable[[ControllerContext], int]) -> Callable[[], float]:
    def read() -> float:
        context = controller.context
        return 0 if context is None else count(context)

    return read
