"""The follower's half of a fetch session: full, incremental, forgotten partitions, a new start."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.replication.follower.followed_partition import FollowedPartition
from signalbox.replication.follower.replica_session import ReplicaSession
from tests.replication.memory_cluster import MemoryCluster

pytestmark = pytest.mark.spec("D3")


class Bench:
    def __init__(self, folder: Path) -> None:
        cluster = MemoryCluster(folder, [1])
        cluster.create([1], partitions=3)
        partitions = [cluster.brokers[1].partition(index) for index in range(3)]
        self.followed = [FollowedPartition(partition, partition.local_log()) for partition in partitions]
        self.session = ReplicaSession(1_000)

    def request(self) -> tuple[int, int, list[int], list[int]]:
        """(session id, epoch, partitions named, partitions forgotten) of the next request."""
        request = FetchRequest()
        self.session.fill(request)
        partitions = [fetch_partition.partition for topic in request.topics for fetch_partition in topic.partitions]
        forgotten = [index for topic in request.forgotten_topics_data for index in topic.partitions]
        return request.session_id, request.session_epoch, partitions, forgotten


def test_a_life(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for followed in bench.followed[:2]:
        bench.session.add(followed)
    assert bench.request() == (0, 0, [0, 1], [])
    bench.session.on_response(33)
    assert bench.request() == (33, 1, [], [])
    bench.session.on_response(33)
    bench.session.add(bench.followed[1])
    bench.session.add(bench.followed[2])
    bench.session.drop(bench.followed[0])
    assert bench.request() == (33, 2, [1, 2], [0])
    bench.session.on_response(33)
    bench.session.on_session_error()
    assert bench.request() == (33, 0, [1, 2], [])
    bench.session.on_connection_lost()
    assert bench.request() == (0, 0, [1, 2], [])


def test_dropped_and_wanted_again_between_two_requests(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.session.add(bench.followed[0])
    bench.request()
    bench.session.on_response(33)
    bench.session.drop(bench.followed[0])
    bench.session.add(bench.followed[0])
    assert bench.request() == (33, 1, [0], [])


def test_without_a_session_each_fetch_has_all_partitions(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.session.add(bench.followed[0])
    for _ in range(2):
        assert bench.request() == (0, 0, [0], [])
        bench.session.on_response(0)


def test_responses_are_only_for_requested_partitions(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.session.add(bench.followed[0])
    assert not bench.followed[0].requested
    bench.request()
    assert bench.followed[0].requested
    assert bench.session.get(bench.followed[0].key) is bench.followed[0]
    bench.session.drop(bench.followed[0])
    assert (bench.session.get(bench.followed[0].key), len(bench.session)) == (None, 0)


def test_the_epoch_wraps(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.session.add(bench.followed[0])
    bench.request()
    bench.session.on_response(33)
    bench.session._epoch = 2**31 - 1
    bench.session.on_response(33)
    assert bench.request()[:2] == (33, 1)
