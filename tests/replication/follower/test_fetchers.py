"""Which fetcher fetches which partition."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.replication.config_rows import ReplicationConfig
from tests.replication.memory_cluster import MemoryCluster


def test_partitions_are_distributed_over_the_fetchers_of_a_leader(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2], ReplicationConfig(fetchers_per_leader=2))
    cluster.create([1, 2], partitions=8)
    cluster.run()
    fetchers = cluster.brokers[2].manager.fetchers
    assert sorted(fetchers._fetchers) == [(1, 0), (1, 1)]
    assert sum(len(fetcher) for fetcher in fetchers._fetchers.values()) == 8
    for index in range(8):
        cluster.produce(1, b"x", index=index)
    cluster.run()
    assert all(cluster.brokers[1].partition(index).high_watermark == 1 for index in range(8))


def test_closed_fetchers_follow_no_partition(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    cluster.run()
    cluster.brokers[2].manager.close()
    assert len(cluster.brokers[2].manager.fetchers) == 0
    cluster.elect(1)
    assert len(cluster.brokers[2].manager.fetchers) == 0


@pytest.mark.spec("M2")
def test_a_broker_that_shuts_down_keeps_following_until_it_is_stopped(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2, 3])
    cluster.create([1, 2, 3])
    cluster.run()
    leaving = cluster.brokers[3]
    leaving.manager.fetchers.follow_no_new_partitions()
    cluster.produce(1, b"x")
    cluster.run()
    assert leaving.partition().local_log(as_leader=False).log_end_offset == 1
    cluster.elect(2, isr=[2, 1])
    cluster.produce(2, b"y")
    cluster.run()
    assert leaving.partition().leader_epoch == 1
    assert leaving.partition().local_log(as_leader=False).log_end_offset == 1
    assert set(cluster.brokers[2].partition().isr) == {1, 2}


def test_resizing_reassigns_the_partitions(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2], partitions=8)
    cluster.run()
    fetchers = cluster.brokers[2].manager.fetchers
    for num_fetchers, keys in ((3, [(1, 0), (1, 1), (1, 2)]), (1, [(1, 0)])):
        fetchers.resize(num_fetchers)
        assert sorted(fetchers._fetchers) == keys
        assert sum(len(fetcher) for fetcher in fetchers._fetchers.values()) == 8
        for index in range(8):
            cluster.produce(1, b"x", index=index)
        cluster.run()
    assert all(cluster.brokers[1].partition(index).high_watermark == 2 for index in range(8))
