"""ListOffsets as in Kafka without tiered storage, by timestamp code, version and role."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.replication.produce import unpacking
from tests.replication.held_threads import HeldThreads
from tests.replication.memory_cluster import TOPIC, MemoryCluster, over_the_wire

pytestmark = pytest.mark.spec("D1")

NOW_MS = ManualClock().now_ms()
CONSUMER, DEBUGGER, FOLLOWER = -1, -2, 2


def with_times(tmp_path: Path, followers: bool = False) -> MemoryCluster:
    """Offsets 0 to 3 with timestamps now + 0, 300, 200, 300 ms, in four batches. Record 0 is deleted if there are no
    followers."""
    cluster = MemoryCluster(tmp_path, [1])
    cluster.view.alive.update({2})
    cluster.create([1, 2] if followers else [1])
    for later in (0, 300, 200, 300):
        batch = bytearray(encode_batch([Record(value=b"x", timestamp=NOW_MS + later)]))
        cluster.brokers[1].manager.append([((TOPIC, 0), batch)], 1, 100)
    cluster.run()
    if not followers:
        cluster.brokers[1].partition().local_log().delete_records_before(1)
    return cluster


def ask(
    cluster: MemoryCluster, timestamp: int, version: int = 11, replica: int = CONSUMER, *,
    leader_epoch: int = -1, index: int = 0, times: int = 1, broker: int = 1, topic: str = TOPIC, level: int = 0,
) -> tuple[int, int, int, int]:  # fmt: skip
    """(error, timestamp, offset, leader epoch)."""
    request_partition = ListOffsetsRequest.ListOffsetsPartition(
        partition_index=index, timestamp=timestamp, current_leader_epoch=leader_epoch
    )
    request = ListOffsetsRequest(
        replica_id=replica,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[request_partition] * times)],
        isolation_level=level if version >= 2 else 0,
    )
    manager = cluster.brokers[broker].manager
    response = over_the_wire(manager.list_offsets(over_the_wire(request, version), version).result(), version)
    entry = response.topics[0].partitions[0]
    return entry.error_code, entry.timestamp, entry.offset, entry.leader_epoch


ANSWERS = {
    "latest": (-1, (0, -1, 4, 0)),
    "earliest": (-2, (0, -1, 1, 0)),
    "largest timestamp": (-3, (0, NOW_MS + 300, 1, 0)),
    "earliest local": (-4, (0, -1, 1, 0)),
    "latest tiered": (-5, (0, -1, -1, -1)),
    "earliest pending upload": (-6, (0, -1, -1, -1)),
    "before all": (0, (0, NOW_MS + 300, 1, 0)),
    "in between": (NOW_MS + 250, (0, NOW_MS + 300, 1, 0)),
    "after all": (NOW_MS + 301, (0, -1, -1, -1)),
    "a code that does not exist": (-7, (Error.UNSUPPORTED_VERSION, -1, -1, -1)),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(tmp_path: Path, name: str) -> None:
    timestamp, expected = ANSWERS[name]
    assert ask(with_times(tmp_path), timestamp) == expected


@pytest.mark.parametrize(("timestamp", "since"), [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_codes_exist_from_a_version_on(tmp_path: Path, timestamp: int, since: int) -> None:
    cluster = with_times(tmp_path)
    served = [version for version in range(1, 12) if ask(cluster, timestamp, version)[0] == Error.NONE]
    assert served == list(range(since, 12))


def test_clients_get_the_high_watermark_and_brokers_the_log_end(tmp_path: Path) -> None:
    cluster = with_times(tmp_path, followers=True)
    cluster.brokers[1].partition().record_follower_fetch(2, 2, 0)
    assert [ask(cluster, -1, replica=replica)[2] for replica in (CONSUMER, DEBUGGER, FOLLOWER)] == [2, 4, 4]
    assert ask(cluster, NOW_MS + 250)[2] == 1
    cluster.brokers[1].partition().record_follower_fetch(2, 4, 0)
    assert ask(cluster, -1, level=1)[2] == 4


def test_a_time_beyond_the_high_watermark_is_not_found(tmp_path: Path) -> None:
    cluster = with_times(tmp_path, followers=True)
    cluster.brokers[1].partition().record_follower_fetch(2, 1, 0)
    assert ask(cluster, NOW_MS + 250) == (0, -1, -1, -1)
    assert ask(cluster, NOW_MS + 250, replica=FOLLOWER)[2] == 1


@pytest.mark.parametrize(
    ("version", "error"),
    [(4, Error.LEADER_NOT_AVAILABLE), (5, Error.OFFSET_NOT_AVAILABLE), (11, Error.OFFSET_NOT_AVAILABLE)],
)
def test_a_new_leader_does_not_step_back(tmp_path: Path, version: int, error: Error) -> None:
    cluster = with_times(tmp_path, followers=True)
    cluster.elect(1, isr=[1, 2])
    for timestamp in (-1, NOW_MS + 250):
        assert ask(cluster, timestamp, version)[0] == error
    assert ask(cluster, -2, version)[0] == Error.NONE
    assert ask(cluster, -1, version, replica=FOLLOWER)[0] == Error.NONE
    cluster.brokers[1].partition().record_follower_fetch(2, 4, 0)
    assert ask(cluster, -1, version)[2] == 4


def test_errors(tmp_path: Path) -> None:
    cluster = with_times(tmp_path)
    assert ask(cluster, -1, leader_epoch=3)[0] == Error.UNKNOWN_LEADER_EPOCH
    assert ask(cluster, -1, index=5)[0] == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(cluster, -1, topic="trains")[0] == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(cluster, -1, times=2)[0] == Error.INVALID_REQUEST
    assert ask(cluster, -1, level=3)[0] == Error.INVALID_REQUEST


def test_followers_answer_debuggers_only(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    cluster.run()
    assert ask(cluster, -1, broker=2)[0] == Error.NOT_LEADER_OR_FOLLOWER
    assert ask(cluster, -1, broker=2, replica=DEBUGGER)[:3] == (0, -1, 0)


def test_topics_that_may_not_be_described(tmp_path: Path) -> None:
    cluster = with_times(tmp_path)
    request = ListOffsetsRequest(
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsRequest.ListOffsetsPartition()])]
    )
    response = cluster.brokers[1].manager.list_offsets(request, 11, lambda topic: False).result()
    assert response.topics[0].partitions[0].error_code == Error.TOPIC_AUTHORIZATION_FAILED


# -- batches that must be decompressed in a thread


def with_a_large_batch(tmp_path: Path, count: int = 1) -> tuple[MemoryCluster, HeldThreads]:
    """Offset 0 is a record of 2 MB in a few bytes, in `count` partitions."""
    cluster, threads = MemoryCluster(tmp_path, [1]), HeldThreads()
    cluster.create([1], partitions=count)
    manager = cluster.brokers[1].manager
    large = encode_batch([Record(value=bytes(2_000_000), timestamp=NOW_MS)], compression="zstd")
    for index in range(count):
        manager.append([((TOPIC, index), bytearray(large))], 1, 100)
    cluster.run()
    manager._unpacking_queue._threads = threads
    return cluster, threads


def ask_for_the_large_batch(cluster: MemoryCluster, count: int = 1) -> Promise[ListOffsetsResponse]:
    partitions = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=NOW_MS) for index in range(count)
    ]
    topic = ListOffsetsRequest.ListOffsetsTopic(name=TOPIC, partitions=partitions)
    return cluster.brokers[1].manager.list_offsets(ListOffsetsRequest(replica_id=CONSUMER, topics=[topic]), 11)


def test_other_requests_are_served_during_a_search(tmp_path: Path) -> None:
    cluster, threads = with_a_large_batch(tmp_path, 3)
    slow = ask_for_the_large_batch(cluster, 3)
    assert (slow.is_done, len(threads.jobs)) == (False, 1), "one partition after the other"
    assert ask(cluster, -1)[2] == 1
    while threads.jobs:
        threads.step()
    entries = slow.result().topics[0].partitions
    assert [(entry.error_code, entry.timestamp, entry.offset) for entry in entries] == [(0, NOW_MS, 0)] * 3


def test_a_leader_that_changes_during_a_search(tmp_path: Path) -> None:
    cluster, threads = with_a_large_batch(tmp_path)
    result = ask_for_the_large_batch(cluster)
    cluster.elect(1)
    while threads.jobs:
        threads.step()
    assert result.result().topics[0].partitions[0].error_code == Error.NOT_LEADER_OR_FOLLOWER


def test_more_searches_than_may_wait_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, threads = with_a_large_batch(tmp_path, 3)
    monkeypatch.setattr(unpacking, "MAX_AWAITING_UNPACKING_BYTES", 0)
    monkeypatch.setattr(unpacking, "MAX_UNPACKING_BYTES", 0)
    first, second = ask_for_the_large_batch(cluster), ask_for_the_large_batch(cluster)
    rejected = ask_for_the_large_batch(cluster, 3).result().topics[0].partitions
    assert {entry.error_code for entry in rejected} == {Error.REQUEST_TIMED_OUT}
    assert [first.is_done, second.is_done] == [False, False]
    while threads.jobs:
        threads.step()
    assert first.result().topics[0].partitions[0].offset == second.result().topics[0].partitions[0].offset == 0
