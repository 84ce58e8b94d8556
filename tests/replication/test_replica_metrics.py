"""Metrics after a short history of the cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.replication.replica_metrics import LATE_AFTER_MS, TOPIC_COUNTERS, measure_replicas
from signalbox.storage.log_config import LogConfig
from tests.metric_values import metric_values
from tests.replication.memory_cluster import TOPIC, MemoryCluster, batch_of
from tests.replication.memory_transactions import produce_in_transaction

_BY_TOPIC = {*(name for name, _ in TOPIC_COUNTERS), "ReplicationBytesOutPerSec"}


class Measured:
    """The metrics of a replica manager that are not 0: of the broker, by topic, or by partition."""

    def __init__(self, manager: ReplicaManager) -> None:
        self._registry = MetricRegistry()
        measure_replicas(self._registry, manager)

    def read(self) -> dict[str, float]:
        """The metrics of the broker."""
        found = metric_values(self._registry, "kafka.server", "signalbox.replication")
        return {name: value for (name, *_), value in found.items() if value and name not in _BY_TOPIC}

    def of_topic(self, *topic: str) -> dict[str, float]:
        """The metrics of one topic, or without an argument the totals."""
        found = metric_values(self._registry, "kafka.server")
        return {n: value for (n, *tags), value in found.items() if n in _BY_TOPIC and value and tags == [*topic]}

    def of_partition(self, topic: str, index: int) -> dict[str, float]:
        found = metric_values(self._registry, "kafka.cluster")
        return {name: value for (name, *tags), value in found.items() if tags == [str(index), topic]}


def test_a_healthy_cluster_and_one_that_lost_a_broker(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, min_insync_replicas=2)
    cluster.create([1, 2, 3], partitions=2)
    cluster.advance(1_000)
    gauges = Measured(cluster.brokers[1].manager)
    assert gauges.read() == {
        "PartitionCount": 2,
        "LeaderCount": 2,
        "PurgatorySize": 2,
        "NumIncrementalFetchSessions": 2,
        "NumIncrementalFetchPartitionsCached": 4,
    }
    cluster.kill(3)
    for index in range(2):
        cluster.produce(1, b"x", acks=1, index=index)
    cluster.advance(60_000, step_ms=500)
    assert gauges.read() | {"PurgatorySize": 0} == {
        "PartitionCount": 2,
        "LeaderCount": 2,
        "UnderReplicatedPartitions": 2,
        "AtMinIsrPartitionCount": 2,
        "IsrShrinksPerSec": 2,
        "NumIncrementalFetchSessions": 2,
        "NumIncrementalFetchPartitionsCached": 4,
        "PurgatorySize": 0,
    }
    cluster.start(3)
    cluster.tell_one(3)
    cluster.run()
    assert gauges.read()["IsrExpandsPerSec"] == 2
    assert "UnderReplicatedPartitions" not in gauges.read()


@pytest.mark.spec("D5")
def test_a_transaction_that_its_coordinator_should_have_aborted_is_late(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    gauges = Measured(cluster.brokers[1].manager)
    produce_in_transaction(cluster, 1, 5, b"open")
    cluster.run()
    cluster.advance(900_000 + LATE_AFTER_MS, step_ms=300_000)
    assert gauges.read()["ProducerIdCount"] == 1
    assert "PartitionsWithLateTransactionsCount" not in gauges.read()
    cluster.advance(300_000, step_ms=300_000)
    assert gauges.read()["PartitionsWithLateTransactionsCount"] == 1


def test_a_follower_knows_its_lag_and_its_bytes(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    cluster.run()
    gauges = Measured(cluster.brokers[2].manager)
    cluster.produce(1, b"x")
    cluster.run()
    found = gauges.read()
    assert found["ReplicationBytesInPerSec"] == len(cluster.brokers[2].content())
    assert "MaxLag" not in found


def test_topic_stats_count_appends_reads_rejections_and_failures(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2], partitions=2)
    cluster.run()
    measured, stored = Measured(cluster.brokers[1].manager), len(batch_of(b"a", b"b"))
    before = measured.of_topic(TOPIC).get("TotalFetchRequestsPerSec", 0)
    cluster.produce(1, b"a", b"b", acks=1)
    cluster.run()
    cluster.consume(1)
    cluster.consume(1, offset=7)
    cluster.brokers[1].partition().log.update_config(LogConfig(max_message_bytes=70))  # type: ignore[union-attr]
    cluster.produce(1, b"c" * 100, acks=1)
    cluster.run()
    found = measured.of_topic(TOPIC)
    assert found.pop("TotalFetchRequestsPerSec") >= before + 2
    assert found == {
        "BytesInPerSec": stored,
        "MessagesInPerSec": 2,
        "BytesOutPerSec": stored,
        "TotalProduceRequestsPerSec": 2,
        "FailedProduceRequestsPerSec": 1,
        "BytesRejectedPerSec": len(batch_of(b"c" * 100)),
        "FailedFetchRequestsPerSec": 1,
    }
    assert measured.of_topic()["ReplicationBytesOutPerSec"] == stored
    assert measured.of_partition(TOPIC, 1) == {
        "ReplicasCount": 2, "InSyncReplicasCount": 2, "UnderReplicated": 0, "UnderMinIsr": 0, "AtMinIsr": 0,
    }  # fmt: skip


def test_sums_over_all_topics_outlive_a_topic(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    measured = Measured(cluster.brokers[1].manager)
    cluster.produce(1, b"a")
    cluster.run()
    before = measured.of_topic()
    assert before == measured.of_topic(TOPIC)
    cluster.stop_replica(1, delete=True)
    cluster.run()
    assert (measured.of_topic(TOPIC), measured.of_topic()) == ({}, before)
    cluster.produce(1, b"b")
    assert measured.of_topic()["FailedProduceRequestsPerSec"] == 1
