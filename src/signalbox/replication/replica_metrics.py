"""What Kafka measures of its replicas, under its names. Everything is counted where it happens and read on a scrape."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.long_work import breathe
from signalbox.common.metrics import MetricName, Metrics
from signalbox.replication.partition import Partition
from signalbox.replication.replica_manager import ReplicaManager

PARTITION_COUNTS: tuple[tuple[str, Callable[[Partition], bool]], ...] = (
    ("PartitionCount", lambda partition: True),
    ("LeaderCount", lambda partition: partition.is_leader),
    ("OfflineReplicaCount", lambda partition: partition.is_offline),
    ("UnderReplicatedPartitions", lambda p: p.is_leader and len(p.isr) < len(p.replicas)),
    ("UnderMinIsrPartitionCount", lambda p: p.is_leader and len(p.isr) < p.effective_min_isr),
    ("AtMinIsrPartitionCount", lambda p: p.is_leader and len(p.isr) == p.effective_min_isr),
)

Read = Callable[[ReplicaManager], float]
MANAGER_GAUGES: tuple[tuple[str, str, Read], ...] = (
    ("ReplicaManager", "IsrShrinksPerSec", lambda manager: manager.isr_changes.shrinks),
    ("ReplicaManager", "IsrExpandsPerSec", lambda manager: manager.isr_changes.expansions),
    ("ReplicaManager", "FailedIsrUpdatesPerSec", lambda manager: manager.isr_changes.refusals),
    ("ReplicaFetcherManager", "MaxLag", lambda manager: manager.fetchers.max_lag),
    ("BrokerTopicMetrics", "ReplicationBytesInPerSec", lambda manager: manager.fetchers.bytes_in),
    ("DelayedOperationPurgatory", "PurgatorySize", lambda manager: manager.engine.purgatory.size),
    ("FetchSessionCache", "NumIncrementalFetchSessions", lambda manager: len(manager.sessions)),
    ("FetchSessionCache", "NumIncrementalFetchPartitionsCached", lambda manager: manager.sessions.partition_count),
    ("FetchSessionCache", "IncrementalFetchSessionEvictionsPerSec", lambda manager: manager.sessions.evictions),
)


def measure_replicas(metrics: Metrics, manager: ReplicaManager) -> None:
    """Register everything."""
    for name, counts in PARTITION_COUNTS:
        metrics.gauge(MetricName("kafka.server", "ReplicaManager", name), _count(manager, counts))
    for type_, name, read in MANAGER_GAUGES:
        metrics.gauge(MetricName("kafka.server", type_, name), _bound(manager, read))


def _count(manager: ReplicaManager, counts: Callable[[Partition], bool]) -> Callable[[], float]:
    def counted() -> float:
        found = 0
        for partition in list(manager.hosted):
            found += counts(partition)
            breathe()
        return found

    return counted


def _bound(manager: ReplicaManager, read: Read) -> Callable[[], float]:
    return lambda: read(manager)
