"""Incremental fetch sessions: epochs, the contents of responses, and evictions when the cache is full."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch.fetch_session import (
    SWEEP_EVERY_MS,
    FetchKey,
    SessionPartition,
)
from signalbox.replication.fetch.session_cache import SessionCache
from tests.replication.memory_cluster import TOPIC, TOPIC_ID, MemoryCluster

pytestmark = pytest.mark.spec("D1")

PartitionData = FetchResponse.PartitionData


def partition(index: int = 0, topic_id: bytes = TOPIC_ID, offset: int = 0) -> SessionPartition:
    key = FetchKey("" if topic_id != bytes(16) else TOPIC, topic_id, index)
    return SessionPartition(key, FetchRequest.FetchPartition(partition=index, fetch_offset=offset))


def request(
    session_id: int,
    epoch: int,
    add: tuple[tuple[int, int], ...] = (),
    forget: tuple[int, ...] = (),
    by_name: bool = False,
) -> FetchRequest:
    """An incremental request. `add`: (partition, offset); `forget`: partitions to remove."""
    name, topic_id = (TOPIC, bytes(16)) if by_name else ("", TOPIC_ID)
    fetch_partition = [FetchRequest.FetchPartition(partition=index, fetch_offset=offset) for index, offset in add]
    made = FetchRequest(session_id=session_id, session_epoch=epoch)
    if fetch_partition:
        made.topics = [FetchRequest.FetchTopic(topic=name, topic_id=topic_id, partitions=fetch_partition)]
    if forget:
        made.forgotten_topics_data = [
            FetchRequest.ForgottenTopic(topic=name, topic_id=topic_id, partitions=list(forget))
        ]
    return made


class Bench:
    def __init__(self, slots: int = 2) -> None:
        self.clock = ManualClock()
        self.cache = SessionCache(slots, self.clock, random.Random(1))

    def create(self, size: int = 1, from_replica: bool = False) -> int:
        return self.cache.create([partition(index) for index in range(size)], 2 if from_replica else -1)

    def resume(self, session_id: int, epoch: int) -> Error:
        try:
            self.cache.resume(request(session_id, epoch))
        except KafkaError as error:
            return error.error
        return Error.NONE


def test_a_session_adds_changes_and_forgets() -> None:
    bench = Bench()
    session_id = bench.create(size=3)
    session = bench.cache.resume(request(session_id, 1, add=((1, 50), (7, 0)), forget=(0,)))
    assert [(key.partition, fetch_partition.fetch_offset) for key, fetch_partition in session.partitions.items()] == [
        (1, 50),
        (2, 0),
        (7, 0),
    ]
    assert session.epoch == 2


def test_epochs_count_up_and_wrap() -> None:
    bench = Bench()
    session_id = bench.create()
    assert [bench.resume(session_id, epoch) for epoch in (1, 2, 2)] == [
        Error.NONE, Error.NONE, Error.INVALID_FETCH_SESSION_EPOCH,
    ]  # fmt: skip
    session = bench.cache.resume(request(session_id, 3))
    session.epoch = 2**31 - 1
    assert bench.resume(session_id, 2**31 - 1) is Error.NONE
    assert session.epoch == 1
    assert bench.resume(session_id + 1, 1) is Error.FETCH_SESSION_ID_NOT_FOUND


def test_names_and_ids_do_not_mix() -> None:
    bench = Bench()
    session_id = bench.create()
    with pytest.raises(KafkaError) as raised:
        bench.cache.resume(request(session_id, 1, add=((0, 0),), by_name=True))
    assert raised.value.error is Error.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_without_partitions_is_closed() -> None:
    bench = Bench()
    session_id = bench.create()
    assert not bench.cache.resume(request(session_id, 1, forget=(0,))).partitions
    assert len(bench.cache) == 0


def test_nothing_to_fetch_makes_no_session() -> None:
    assert Bench().create(size=0) == 0


@pytest.mark.parametrize(
    ("data", "again"),
    [
        (PartitionData(high_watermark=5, log_start_offset=0, records=b""), False),
        (PartitionData(high_watermark=6, log_start_offset=0, records=b""), True),
        (PartitionData(high_watermark=5, log_start_offset=1, records=b""), True),
        (PartitionData(high_watermark=5, log_start_offset=0, records=b"xx"), True),
        (PartitionData(error_code=6, high_watermark=-1), True),
        (
            PartitionData(
                high_watermark=5, log_start_offset=0, records=b"",
                diverging_epoch=FetchResponse.EpochEndOffset(epoch=0, end_offset=3),
            ),
            True,
        ),
    ],
)  # fmt: skip
def test_only_changes_are_returned(data: FetchResponse.PartitionData, again: bool) -> None:
    entry = partition()
    assert entry.must_include(PartitionData(high_watermark=5, log_start_offset=0, records=b""))
    assert entry.must_include(data) is again


def test_the_first_entry_after_an_error_is_always_returned() -> None:
    entry, fine = partition(), PartitionData(high_watermark=5, log_start_offset=0, records=b"")
    assert [entry.must_include(data) for data in (fine, fine, PartitionData(error_code=6), fine, fine)] == [
        True, False, True, True, False,
    ]  # fmt: skip


def test_a_partition_that_gave_records_goes_last() -> None:
    bench = Bench()
    session = bench.cache.resume(request(bench.create(size=3), 1))
    first = next(iter(session.partitions.values()))
    session.move_to_end(first)
    assert [fetch_partition.key.partition for fetch_partition in session.dirty_partitions] == [1, 2, 0]
    session.move_to_end(partition(9))
    assert len(session.dirty_partitions) == 3


def test_a_clean_partition_becomes_dirty_at_its_next_change(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1], partitions=3)
    manager, cache = cluster.brokers[1].manager, cluster.brokers[1].manager.sessions
    session_id = cache.create([partition(index) for index in range(3)], -1)

    def fetch(epoch: int, *changes: tuple[int, int]) -> list[int]:
        """The partitions in the response."""
        response = manager.fetches.fetch(request(session_id, epoch, add=changes), 18).result()
        return [data.partition_index for topic in response.responses for data in topic.partitions]

    def dirty_partitions() -> list[int]:
        return [fetch_partition.key.partition for fetch_partition in session.dirty_partitions]

    session = cache.resume(request(session_id, 1))
    assert fetch(2) == [0, 1, 2]
    assert (fetch(3), dirty_partitions()) == ([], [])
    cluster.produce(1, b"a", index=1)
    cluster.run()
    assert (dirty_partitions(), fetch(4), dirty_partitions()) == ([1], [1], [1])
    assert (fetch(5, (1, 1)), dirty_partitions()) == ([], [])
    cluster.brokers[1].partition(1).local_log().delete_records_before(1)
    assert fetch(6) == []
    cluster.clock.advance(SWEEP_EVERY_MS)
    assert fetch(7) == [1], "no append marked it dirty, the sweep has observed it"
    assert (fetch(8), dirty_partitions()) == ([], [])
    cluster.elect(1, index=2)
    assert dirty_partitions() == [2]
    cache.close(session_id)
    assert all(not cluster.brokers[1].partition(index).clean_sessions for index in range(3))


def test_a_clean_follower_counts_as_caught_up_until_its_last_fetch(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.advance(60_000, step_ms=500)
    partition_ = cluster.brokers[1].partition()
    assert len(partition_.clean_sessions) == 2
    last_fetch_ms = cluster.clock.now_ms()
    cluster.kill(2)
    cluster.advance(3_000)
    cluster.produce(1, b"x", acks=1)
    cluster.run()
    assert partition_.isr == (1, 2, 3)
    assert last_fetch_ms - 1_000 <= partition_.followers[2].last_caught_up_ms <= last_fetch_ms
    assert partition_.followers[3].log_end_offset == 1
