"""The order of a fetch response: adjacent partitions of a topic share one entry; and when a waiting fetch ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.limits import MAX_FETCH_WAIT_MS
from signalbox.protocol.messages.fetch import FetchRequest
from tests.replication.memory_cluster import FETCH_VERSION, TOPIC_ID, MemoryCluster, fetch_request

pytestmark = pytest.mark.spec("D1")

OTHER_ID = bytes(reversed(TOPIC_ID))


def test_partitions_are_answered_in_the_order_of_the_request(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1], partitions=3)
    topics = [
        FetchRequest.FetchTopic(
            topic_id=TOPIC_ID, partitions=[FetchRequest.FetchPartition(partition=i) for i in (2, 0)]
        ),
        FetchRequest.FetchTopic(topic_id=OTHER_ID, partitions=[FetchRequest.FetchPartition(partition=4)]),
        FetchRequest.FetchTopic(topic_id=TOPIC_ID, partitions=[FetchRequest.FetchPartition(partition=1)]),
    ]
    response = cluster.brokers[1].manager.fetches.fetch(FetchRequest(topics=topics), FETCH_VERSION).result()
    found = [(topic.topic_id, [data.partition_index for data in topic.partitions]) for topic in response.responses]
    assert found == [(TOPIC_ID, [2, 0, 1]), (OTHER_ID, [4])]


def test_an_expired_fetch_returns_the_available_records(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1], partitions=2)
    session_partition = [FetchRequest.FetchPartition(partition=i, partition_max_bytes=1_000) for i in (0, 1)]
    request = FetchRequest(
        max_wait_ms=300,
        min_bytes=10_000,
        topics=[FetchRequest.FetchTopic(topic_id=TOPIC_ID, partitions=session_partition)],
    )
    answer = cluster.brokers[1].manager.fetches.fetch(request, FETCH_VERSION)
    cluster.produce(1, b"a", index=1)
    cluster.advance(300)
    sizes = [len(data.records or b"") > 0 for topic in answer.result().responses for data in topic.partitions]
    assert sizes == [False, True]


def test_no_fetch_is_parked_for_ever(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    answer = cluster.brokers[1].manager.fetches.fetch(fetch_request(0, max_wait_ms=2**31 - 1), FETCH_VERSION)
    cluster.advance(MAX_FETCH_WAIT_MS, step_ms=1_000)
    assert answer.is_done
