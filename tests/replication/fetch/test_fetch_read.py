"""One pass over the logs: the fast read compared with the generic one, and partitions that are skipped in a session."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.replication.fetch.fetch_read import (
    FetchParams,
    Isolation,
    client_isolation,
    read_all,
    read_fast_path,
    visible_end,
)
from signalbox.replication.fetch.fetch_session import FetchKey, FetchSession, SessionPartition
from tests.replication.memory_cluster import TOPIC, TOPIC_ID, MemoryCluster, bytes_of

pytestmark = pytest.mark.spec("D1")

CONSUMER = FetchParams(-1, -1, Isolation.READ_UNCOMMITTED, 1 << 20, 1, True, True, False)
IN_SESSION = FetchParams(-1, -1, Isolation.READ_UNCOMMITTED, 1 << 20, 1, True, True, True)


def session_partition(offset: int, max_bytes: int = 1 << 20, leader_epoch: int = 0) -> SessionPartition:
    return SessionPartition(
        FetchKey(TOPIC, TOPIC_ID, 0),
        FetchRequest.FetchPartition(
            fetch_offset=offset, partition_max_bytes=max_bytes, current_leader_epoch=leader_epoch
        ),
    )


def in_session(partition: SessionPartition) -> SessionPartition:
    FetchSession(1, -1, True, 0).add(partition)
    return partition


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> MemoryCluster:
    """A partition with nine batches of growing size; offsets 0 and 1 are deleted, the last two are not committed."""
    made = MemoryCluster(tmp_path_factory.mktemp("logs"), [1])
    made.create([1, 2])
    for number in range(9):
        made.produce(1, *[b"%d" % number * (40 * number + 1)] * (number % 3 + 1), acks=1)
        made.run()
    partition = made.brokers[1].partition()
    partition.record_follower_fetch(2, partition.local_log().log_end_offset - 2, 0)
    partition.local_log().delete_records_before(2)
    return made


@given(offset=st.integers(-2, 25), max_bytes=st.integers(0, 3_000))
@settings(max_examples=200, deadline=None)
def test_the_fast_path_read_agrees_with_the_generic_one(cluster: MemoryCluster, offset: int, max_bytes: int) -> None:
    broker = cluster.brokers[1]
    try:
        fast = read_fast_path(broker.partition(), offset, max_bytes, Isolation.READ_UNCOMMITTED)
    except KafkaError:
        fast = None
    [(_, data)] = read_all(broker.manager.hosted, [session_partition(offset, max_bytes)], CONSUMER).entries
    if fast is None:
        assert data.error_code or not data.records
    else:
        assert (data.error_code, bytes_of(data.records)) == (0, bytes_of(fast[0].records))


def test_the_fast_path_read_does_not_serve_followers(tmp_path: Path) -> None:
    made = MemoryCluster(tmp_path, [1, 2])
    made.create([1, 2])
    made.produce(1, b"a")
    made.run()
    assert read_fast_path(made.brokers[2].partition(), 0, 100, Isolation.READ_UNCOMMITTED) is None
    assert read_fast_path(made.brokers[1].partition(), 0, 100, Isolation.READ_COMMITTED) is not None


def test_visible_ends(cluster: MemoryCluster) -> None:
    partition = cluster.brokers[1].partition()
    log = partition.local_log()
    ends = [visible_end(partition, log, isolation) for isolation in Isolation]
    assert ends == [log.high_watermark, partition.last_stable_offset, log.log_end_offset]
    assert log.high_watermark == log.log_end_offset - 2


@pytest.mark.parametrize("level", [0, 1])
def test_isolation_levels(level: int) -> None:
    assert client_isolation(level) == level
    with pytest.raises(KafkaError) as raised:
        client_isolation(level + 2)
    assert raised.value.error is Error.INVALID_REQUEST


def test_a_session_skips_unchanged_partitions(cluster: MemoryCluster) -> None:
    hosted = cluster.brokers[1].manager.hosted
    partition = cluster.brokers[1].partition()
    unchanged = in_session(session_partition(partition.high_watermark))
    [(_, data)] = read_all(hosted, [unchanged], IN_SESSION).entries
    assert unchanged.must_include(data)
    assert read_all(hosted, [unchanged], IN_SESSION).entries == []
    assert len(read_all(hosted, [unchanged], CONSUMER).entries) == 1
    high_watermark = unchanged.last_sent_high_watermark
    for change in ("offset", "high watermark", "log start", "leader epoch", "topic id"):
        changed = in_session(session_partition(partition.high_watermark))
        changed.last_sent_high_watermark, changed.last_sent_log_start_offset = high_watermark, 2
        assert read_all(hosted, [changed], IN_SESSION).entries == []
        if change == "offset":
            changed.fetch_offset -= 1
        elif change == "high watermark":
            changed.last_sent_high_watermark -= 1
        elif change == "log start":
            changed.last_sent_log_start_offset -= 1
        elif change == "leader epoch":
            changed.current_leader_epoch = 4
        else:
            changed.key = FetchKey(TOPIC, bytes(reversed(TOPIC_ID)), 0)
        changed.mark_dirty()
        assert len(read_all(hosted, [changed], IN_SESSION).entries) == 1, change


def test_by_name_in_a_session(cluster: MemoryCluster) -> None:
    """Before version 13 the key has no topic id: the partition is looked up by name."""
    by_name = SessionPartition(FetchKey(TOPIC, ZERO_UUID, 0), FetchRequest.FetchPartition(fetch_offset=2))
    [(_, data)] = read_all(cluster.brokers[1].manager.hosted, [by_name], IN_SESSION).entries
    assert data.error_code == 0


def test_with_a_session_the_check_of_records_that_are_fetched_twice_does_not_yield(cluster: MemoryCluster) -> None:
    """Another request may close the session while a task has yielded."""
    broker = cluster.brokers[1]
    follower = replace(IN_SESSION, replica_id=2)
    partitions = [in_session(session_partition(2))]
    progress = broker.manager.fetches._progress
    for _ in range(2):
        task = CooperativeTask(lambda: read_all(broker.manager.hosted, partitions, follower, progress))
        task.run_slice(0.0)
        assert task.dead
