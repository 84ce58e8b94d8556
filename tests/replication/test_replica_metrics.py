"""Counts that add up over a small history."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from signalbox.common.metrics import MetricName, NullMetrics
from signalbox.replication.replica_metrics import measure_replicas
from tests.replication.memory_cluster import MemoryCluster


class Gauges(NullMetrics):
    """Keeps the readers."""

    def __init__(self) -> None:
        self.readers: dict[str, Callable[[], float]] = {}

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        assert name.group == "kafka.server"
        self.readers[name.name] = read

    def read(self) -> dict[str, float]:
        return {name: read() for name, read in self.readers.items() if read()}


def test_a_healthy_cluster_and_one_that_lost_a_broker(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, min_insync_replicas=2)
    cluster.create([1, 2, 3], partitions=2)
    cluster.advance(1_000)
    gauges = Gauges()
    measure_replicas(gauges, cluster.brokers[1].manager)
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


def test_a_follower_knows_its_lag_and_its_bytes(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    cluster.run()
    gauges = Gauges()
    measure_replicas(gauges, cluster.brokers[2].manager)
    cluster.produce(1, b"x")
    cluster.run()
    found = gauges.read()
    assert found["ReplicationBytesInPerSec"] == len(cluster.brokers[2].content())
    assert "MaxLag" not in found
