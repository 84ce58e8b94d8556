"""Metrics of replicas and topics: Kafka's under Kafka's names, others under the product's name.

Events are counted where they happen and read at a scrape; metrics with a row per partition or topic are read in one
pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.metrics import MetricName, Metrics
from signalbox.replication.partition import Partition
from signalbox.replication.replica_manager import ReplicaManager

PARTITION_COUNTS: tuple[tuple[str, Callable[[Partition], bool]], ...] = (
    ("PartitionCount", lambda partition: True),
    ("LeaderCount", lambda partition: partition.is_leader),
    ("OfflineReplicaCount", lambda partition: partition.is_offline),
    ("UnderReplicatedPartitions", lambda p: p.is_leader and _lags(p)),
    ("UnderMinIsrPartitionCount", lambda p: p.is_leader and len(p.isr) < p.effective_min_isr),
    ("AtMinIsrPartitionCount", lambda p: p.is_leader and len(p.isr) == p.effective_min_isr),
    ("ReassigningPartitions", lambda p: p.is_leader and bool(p.adding_replicas or p.removing_replicas)),
)

# kafka.cluster:type=Partition; 0 on followers, as in Kafka.
PARTITION_GAUGES: tuple[tuple[str, Callable[[Partition], float]], ...] = (
    ("ReplicasCount", lambda p: len(p.replicas) if p.is_leader else 0),
    ("InSyncReplicasCount", lambda p: len(p.isr) if p.is_leader else 0),
    ("UnderReplicated", lambda p: p.is_leader and _lags(p)),
    ("UnderMinIsr", lambda p: p.is_leader and len(p.isr) < p.effective_min_isr),
    ("AtMinIsr", lambda p: p.is_leader and len(p.isr) == p.effective_min_isr),
)

# kafka.server:type=BrokerTopicMetrics: the sum over all topics, and per topic with the tag `topic`.
TOPIC_COUNTERS: tuple[tuple[str, str], ...] = (
    ("BytesInPerSec", "bytes_in"),
    ("BytesOutPerSec", "bytes_out"),
    ("BytesRejectedPerSec", "bytes_rejected"),
    ("MessagesInPerSec", "messages_in"),
    ("TotalProduceRequestsPerSec", "produces"),
    ("FailedProduceRequestsPerSec", "failed_produces"),
    ("TotalFetchRequestsPerSec", "fetches"),
    ("FailedFetchRequestsPerSec", "failed_fetches"),
)

Read = Callable[[ReplicaManager], float]
MANAGER_COUNTERS: tuple[tuple[str, str, Read], ...] = (
    ("ReplicaManager", "IsrShrinksPerSec", lambda manager: manager.isr_changes.shrinks),
    ("ReplicaManager", "IsrExpandsPerSec", lambda manager: manager.isr_changes.expansions),
    ("ReplicaManager", "FailedIsrUpdatesPerSec", lambda manager: manager.isr_changes.rejections),
    ("BrokerTopicMetrics", "ReplicationBytesInPerSec", lambda manager: manager.fetchers.bytes_in),
    ("BrokerTopicMetrics", "ReplicationBytesOutPerSec", lambda manager: manager.hosted.total("replication_bytes_out")),
    ("FetchSessionCache", "IncrementalFetchSessionEvictionsPerSec", lambda manager: manager.sessions.evictions),
)
MANAGER_GAUGES: tuple[tuple[str, str, Read, dict[str, str]], ...] = (
    ("ReplicaFetcherManager", "MaxLag", lambda manager: manager.fetchers.max_lag, {"clientId": "Replica"}),
    ("DelayedOperationPurgatory", "PurgatorySize", lambda manager: _waiting_appends(manager),
     {"delayedOperation": "Produce"}),
    ("DelayedOperationPurgatory", "PurgatorySize", lambda manager: manager.scheduler.purgatory.sizes["Fetch"],
     {"delayedOperation": "Fetch"}),
    ("DelayedOperationPurgatory", "PurgatorySize", lambda manager: manager.scheduler.purgatory.sizes["DeleteRecords"],
     {"delayedOperation": "DeleteRecords"}),
    ("FetchSessionCache", "NumIncrementalFetchSessions", lambda manager: len(manager.sessions), {}),
    ("FetchSessionCache", "NumIncrementalFetchPartitionsCached", lambda manager: manager.sessions.partition_count, {}),
)  # fmt: skip
LATE_AFTER_MS = 300_000  # as in Kafka: behind transaction.max.timeout.ms, by when a coordinator should have aborted
_CORRUPT_LOGS = ("signalbox.replication", "CorruptLogs")


def measure_replicas(metrics: Metrics, manager: ReplicaManager, max_transaction_timeout_ms: int = 900_000) -> None:
    """Register all metrics."""

    def is_late(partition: Partition) -> bool:
        began_ms = partition.log.oldest_transaction_ms if partition.is_leader and partition.log is not None else -1
        age_ms = manager.scheduler.clock.now_ms() - began_ms
        return began_ms > 0 and age_ms > max_transaction_timeout_ms + LATE_AFTER_MS

    for name, counts in (*PARTITION_COUNTS, ("PartitionsWithLateTransactionsCount", is_late)):
        metrics.gauge(MetricName("kafka.server", "ReplicaManager", name), partial(_count, manager, counts))
    metrics.gauge(MetricName("kafka.server", "ReplicaManager", "ProducerIdCount"), partial(_producer_ids, manager))
    for name, value in PARTITION_GAUGES:
        metrics.gauges(MetricName("kafka.cluster", "Partition", name), partial(_partition_rows, manager, value))
    for name, field in TOPIC_COUNTERS:
        metrics.counters(MetricName("kafka.server", "BrokerTopicMetrics", name), partial(_topic_rows, manager, field))
    for type_, name, count in MANAGER_COUNTERS:
        metrics.counter_from(MetricName("kafka.server", type_, name), partial(count, manager))
    for type_, name, read, tags in MANAGER_GAUGES:
        metrics.gauge(MetricName("kafka.server", type_, name), partial(read, manager), tags)
    corrupt = manager.corrupt_logs
    metrics.gauge(MetricName(*_CORRUPT_LOGS, "CorruptReplicas"), lambda: corrupt.count)
    metrics.counter_from(MetricName(*_CORRUPT_LOGS, "CorruptBatchesFound"), lambda: corrupt.corrupt_batches)
    metrics.counter_from(MetricName(*_CORRUPT_LOGS, "RebuiltReplicas"), lambda: corrupt.rebuilt)


def _lags(partition: Partition) -> bool:
    return len(partition.isr) < len(partition.replicas)


def _waiting_appends(manager: ReplicaManager) -> int:
    """Yields."""
    waiting = 0
    for partition in list(manager.hosted):
        waiting += len(partition.waiting_appends)
        yield_if_due()
    return waiting


def _producer_ids(manager: ReplicaManager) -> int:
    """Yields."""
    producer_ids = 0
    for partition in list(manager.hosted):
        producer_ids += len(partition.log.producers) if partition.log is not None else 0
        yield_if_due()
    return producer_ids


def _count(manager: ReplicaManager, counts: Callable[[Partition], bool]) -> float:
    """Yields."""
    matching = 0
    for partition in list(manager.hosted):
        matching += counts(partition)
        yield_if_due()
    return matching


def _partition_rows(
    manager: ReplicaManager, value: Callable[[Partition], float]
) -> Iterator[tuple[dict[str, str], float]]:
    for partition in list(manager.hosted):
        topic, index = partition.topic_partition
        yield {"topic": topic, "partition": str(index)}, value(partition)


def _topic_rows(manager: ReplicaManager, field: str) -> Iterator[tuple[dict[str, str], float]]:
    yield {}, manager.hosted.total(field)
    for topic, stats in list(manager.hosted.topic_stats.items()):
        yield {"topic": topic}, getattr(stats, field)
