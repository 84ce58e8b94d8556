"""Waiters of a partition: which ones complete after commits, appends, and the end of leadership."""

from __future__ import annotations

from pathlib import Path

from signalbox.common.waiting.promise import Promise
from signalbox.protocol.messages.fetch import FetchResponse
from tests.replication.memory_cluster import FETCH_VERSION, MemoryCluster, fetch_request


def parked(cluster: MemoryCluster, offset: int, replica: tuple[int, int] = (-1, -1)) -> Promise[FetchResponse]:
    request = fetch_request(offset, replica=replica, max_wait_ms=60_000)
    return cluster.brokers[1].manager.fetches.fetch(request, FETCH_VERSION)


def test_appends_wake_followers_and_commits_wake_consumers(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.view.alive.update({2, 3})
    cluster.create([1, 2, 3])
    parked(cluster, 0, (3, 1))
    follower, consumer = parked(cluster, 0, (2, 1)), parked(cluster, 0)
    cluster.produce(1, b"a", acks=1)
    cluster.run()
    assert (follower.is_done, consumer.is_done) == (True, False)
    cluster.brokers[1].partition().record_follower_fetch(2, 1, 0)
    cluster.brokers[1].partition().record_follower_fetch(3, 1, 0)
    cluster.run()
    assert consumer.is_done


def test_a_new_leader_wakes_all_waiters(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.view.alive.update({2, 3})
    cluster.create([1, 2, 3])
    parked(cluster, 0, (3, 1))
    early = parked(cluster, 0, (2, 1))
    produced = cluster.produce(1, b"a")
    cluster.run()
    late = parked(cluster, 1, (2, 1))
    assert (early.is_done, produced.is_done, late.is_done) == (True, False, False)
    cluster.elect(2, isr=[1, 2, 3])
    cluster.run()
    assert (produced.is_done, late.is_done) == (True, True)
