"""DeleteRecords: the leader's log start moves at once, the response waits for the replicas."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_records import DeleteRecordsRequest, DeleteRecordsResponse
from signalbox.replication.ports import TopicSettings
from tests.replication.memory_cluster import TOPIC, MemoryCluster

pytestmark = pytest.mark.spec("D1")


def with_records(tmp_path: Path, brokers: list[int], count: int = 5) -> MemoryCluster:
    cluster = MemoryCluster(tmp_path, brokers)
    cluster.create(brokers)
    cluster.run()
    for number in range(count):
        cluster.produce(1, b"%d" % number)
        cluster.run()
    return cluster


def delete(
    cluster: MemoryCluster, offset: int, *, index: int = 0, timeout_ms: int = 1_000, topic: str = TOPIC
) -> Promise[DeleteRecordsResponse]:
    request_partition = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=index, offset=offset)
    request = DeleteRecordsRequest(
        timeout_ms=timeout_ms,
        topics=[DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[request_partition])],
    )
    return cluster.brokers[1].manager.delete_records(request)


def result(answer: Promise[DeleteRecordsResponse]) -> tuple[int, int]:
    entry = answer.result().topics[0].partitions[0]
    return entry.error_code, entry.low_watermark


@pytest.mark.parametrize(("offset", "start"), [(3, 3), (-1, 5), (0, 0)])
def test_alone_it_is_done_at_once(tmp_path: Path, offset: int, start: int) -> None:
    cluster = with_records(tmp_path, [1])
    assert result(delete(cluster, offset)) == (Error.NONE, start)
    assert cluster.brokers[1].partition().local_log().log_start_offset == start


def test_the_answer_comes_when_all_replicas_have_followed(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, [1, 2, 3])
    answer = delete(cluster, 3)
    assert not answer.is_done
    cluster.advance(1_000)
    assert result(answer) == (Error.NONE, 3)
    assert cluster.brokers[3].partition().local_log(as_leader=False).log_start_offset == 3


def test_a_dead_replica_is_not_waited_for_and_a_silent_one_costs_the_time(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, [1, 2])
    cluster.cut = {(2, 1)}
    silent = delete(cluster, 2, timeout_ms=300)
    cluster.advance(300)
    assert result(silent) == (Error.REQUEST_TIMED_OUT, 0)  # as in Kafka: how far the replicas are
    cluster.kill(2)
    assert result(delete(cluster, 3)) == (Error.NONE, 3)


@pytest.mark.spec("D4")
def test_a_follower_whose_own_retention_was_earlier_is_ahead(tmp_path: Path) -> None:
    """Its log start is no reason for it to change anything, but the leader must have it."""
    cluster = with_records(tmp_path, [1, 2])
    cluster.brokers[2].partition().local_log(as_leader=False).delete_records_before(4)
    cluster.brokers[1].partition().local_log().delete_records_before(2)
    cluster.advance(1_000)
    answer = delete(cluster, 3)
    cluster.advance(500)
    assert result(answer) == (Error.NONE, 3)


def test_losing_leadership_ends_the_wait(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, [1, 2])
    answer = delete(cluster, 2)
    cluster.elect(2)
    cluster.brokers[1].iterations.end()
    assert result(answer) == (Error.NOT_LEADER_OR_FOLLOWER, -1)


@pytest.mark.parametrize(
    ("offset", "index", "topic", "error"),
    [
        (6, 0, TOPIC, Error.OFFSET_OUT_OF_RANGE),
        (-2, 0, TOPIC, Error.OFFSET_OUT_OF_RANGE),
        (1, 4, TOPIC, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (1, 0, "__consumer_offsets", Error.INVALID_TOPIC_EXCEPTION),
        (1, 0, "__share_group_state", Error.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_rejected(tmp_path: Path, offset: int, index: int, topic: str, error: Error) -> None:
    assert result(delete(with_records(tmp_path, [1]), offset, index=index, topic=topic)) == (error, -1)


def test_compacted_topics_keep_their_records(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, [1])
    cluster.configs.topic = TopicSettings(deletes_records=False)
    cluster.brokers[1].manager.update_topic_config(TOPIC)
    assert result(delete(cluster, 1)) == (Error.POLICY_VIOLATION, -1)
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsRequest.DeleteRecordsTopic(
                name=TOPIC, partitions=[DeleteRecordsRequest.DeleteRecordsPartition()]
            )
        ]
    )
    denied = cluster.brokers[1].manager.delete_records(request, lambda name: False)
    assert result(denied) == (Error.TOPIC_AUTHORIZATION_FAILED, -1)
