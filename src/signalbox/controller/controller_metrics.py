"""The controller's metrics: Kafka's under its names (`kafka.controller:type=KafkaController`), the others in
`signalbox.controller`; gauges are 0 off the active controller.

Counts are computed when metrics are scraped; they cost nothing in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.common.metrics import MetricName, Metrics
from signalbox.controller.context import ControllerContext
from signalbox.controller.partitions.log_comparison import is_waiting
from signalbox.controller.partitions.partition_control import is_offline

_GROUP = "kafka.controller"
_OWN_GROUP = "signalbox.controller"
DECISION_TO_LEADER_AND_ISR = MetricName(_OWN_GROUP, "BrokerChannels", "DecisionToLeaderAndIsrAppliedMs")
"""Time from the beginning of a decision to each broker's response to the LeaderAndIsr that follows from it."""


class MeasuredQueue(Protocol):
    """The queue's length, and the effects of a full store on it."""

    @property
    def held(self) -> int: ...

    @property
    def rejections_total(self) -> int: ...

    def __len__(self) -> int: ...


class Measured(Protocol):
    """What the gauges read of the controller."""

    @property
    def is_active(self) -> bool: ...

    @property
    def context(self) -> ControllerContext | None: ...

    @property
    def queue(self) -> MeasuredQueue: ...

    @property
    def unclean_elections(self) -> int: ...


def _partitions(context: ControllerContext) -> Iterator[TopicPartition]:
    """All partitions; topics may be created and deleted meanwhile."""
    for name, topic in list(context.topics.items()):
        for index in () if name in context.deleting else list(topic.assignment.replicas):
            yield TopicPartition(name, index)


def offline_partitions(context: ControllerContext) -> int:
    """Partitions without a live leader. Yields."""
    count = 0
    for partition in _partitions(context):
        count += is_offline(context, partition)
        yield_if_due()
    return count


def waiting_partitions(context: ControllerContext) -> int:
    """Partitions whose election waits for members of the ISR to return after an unclean shutdown. Yields."""
    count = 0
    for partition in _partitions(context):
        count += is_waiting(context, partition)
        yield_if_due()
    return count


def imbalanced_partitions(context: ControllerContext) -> int:
    """Partitions that their preferred replica does not lead. Yields."""
    count = 0
    for partition in _partitions(context):
        state, replicas = context.state(partition), context.replicas(partition)
        count += bool(replicas) and (state is None or state.leader != replicas[0])  # the topic may be deleted by now
        yield_if_due()
    return count


_COUNTS: dict[MetricName, Callable[[ControllerContext], int]] = {
    MetricName(_GROUP, "KafkaController", "OfflinePartitionsCount"): offline_partitions,
    MetricName(_GROUP, "KafkaController", "PreferredReplicaImbalanceCount"): imbalanced_partitions,
    MetricName(_GROUP, "KafkaController", "GlobalTopicCount"): lambda context: len(context.topics),
    MetricName(_GROUP, "KafkaController", "GlobalPartitionCount"): lambda context: sum(
        len(topic.assignment.replicas) for topic in context.topics.values()
    ),
    MetricName(_GROUP, "KafkaController", "TopicsToDeleteCount"): lambda context: len(context.deleting),
    MetricName(_GROUP, "KafkaController", "ReplicasToDeleteCount"): lambda context: sum(
        map(len, context.deleting.values())
    ),
    MetricName(_GROUP, "KafkaController", "ActiveBrokerCount"): lambda context: len(context.brokers),
    MetricName(_OWN_GROUP, "Brokers", "ShuttingDownBrokerCount"): lambda context: len(context.shutting_down),
    # Kafka's controller fails on some of them.
    MetricName(_OWN_GROUP, "MetadataStore", "CorruptEntryCount"): lambda context: len(context.corrupt_entries),
    MetricName(_OWN_GROUP, "Elections", "AwaitedElectionCount"): waiting_partitions,
    # No member of the ISR that returned has a log.
    MetricName(_OWN_GROUP, "Elections", "LostLogPartitionCount"): lambda context: len(context.waited),
}


def measure_controller(metrics: Metrics, controller: Measured) -> None:
    """Register the metrics of a controller."""
    queue = controller.queue
    metrics.gauge(MetricName(_GROUP, "KafkaController", "ActiveControllerCount"), lambda: int(controller.is_active))
    metrics.gauge(MetricName(_GROUP, "ControllerEventManager", "EventQueueSize"), lambda: len(queue))
    metrics.counter_from(
        MetricName(_GROUP, "ControllerStats", "UncleanLeaderElectionsPerSec"), lambda: controller.unclean_elections
    )
    # A full metadata store (its disk is full) rejects changes and defers elections.
    metrics.counter_from(MetricName(_OWN_GROUP, "MetadataStore", "StoreFullRejections"), lambda: queue.rejections_total)
    metrics.gauge(MetricName(_OWN_GROUP, "MetadataStore", "StoreFullDeferredEvents"), lambda: queue.held)
    for name, count in _COUNTS.items():
        metrics.gauge(name, _reading(controller, count))


def _reading(controller: Measured, count: Callable[[ControllerContext], int]) -> Callable[[], float]:
    def read() -> float:
        context = controller.context
        return 0 if context is None else count(context)

    return read
