"""The state of one partition with a real log: roles, fencing, high watermark, settings, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.leader_and_isr import PartitionState
from signalbox.replication.partition import Partition
from signalbox.replication.ports import TopicSettings
from tests.replication.memory_cluster import TOPIC, MemoryCluster

pytestmark = pytest.mark.spec("D3")


def led(tmp_path: Path, min_insync_replicas: int = 1) -> tuple[MemoryCluster, Partition]:
    """A partition led by broker 1. The followers do not run, so they do not fetch."""
    cluster = MemoryCluster(tmp_path, [1], min_insync_replicas=min_insync_replicas)
    cluster.create([1, 2, 3])
    return cluster, cluster.brokers[1].partition()


def append(cluster: MemoryCluster, *values: bytes) -> None:
    cluster.produce(1, *values, acks=1)
    cluster.run()


def state(partition: Partition, *, partition_epoch: int, leader_epoch: int = 0, leader: int = 1) -> PartitionState:
    return PartitionState(
        leader=leader, leader_epoch=leader_epoch, isr=[1, 2], partition_epoch=partition_epoch, replicas=[1, 2, 3]
    )


@pytest.mark.parametrize(
    ("request_epoch", "error"),
    [(-1, None), (2, None), (1, Error.FENCED_LEADER_EPOCH), (3, Error.UNKNOWN_LEADER_EPOCH)],
)
def test_requests_are_fenced_by_their_leader_epoch(tmp_path: Path, request_epoch: int, error: Error | None) -> None:
    cluster, partition = led(tmp_path)
    cluster.elect(1, isr=[1])
    cluster.elect(1, isr=[1])
    if error is None:
        assert partition.local_log(request_epoch) is partition.log
    else:
        with pytest.raises(KafkaError) as raised:
            partition.local_log(request_epoch)
        assert raised.value.error is error


def test_the_high_watermark_waits_for_the_maximal_isr(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    append(cluster, b"0", b"1", b"2")
    steps = [(2, 3, 0), (3, 1, 1), (3, 2, 2), (2, 3, 2), (3, 3, 3)]
    seen, moved = [], []
    for replica, offset, _ in steps:
        moved.append(partition.record_follower_fetch(replica, offset, 0))
        seen.append(partition.high_watermark)
    assert seen == [expected for _, _, expected in steps]
    assert moved == [False, True, True, False, True]


def test_it_stands_still_while_too_few_are_in_sync(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path, min_insync_replicas=2)
    cluster.elect(1, isr=[1])
    append(cluster, b"0")
    assert (partition.high_watermark, partition.has_enough_in_sync) == (0, False)
    partition.apply_settings(TopicSettings(min_insync_replicas=1))
    assert (partition.high_watermark, partition.has_enough_in_sync) == (1, True)


def test_min_insync_replicas_is_limited_to_the_replica_count(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1], min_insync_replicas=5)
    cluster.create([1])
    append(cluster, b"0")
    assert (cluster.brokers[1].partition().effective_min_isr, cluster.brokers[1].partition().high_watermark) == (1, 1)


def test_an_older_partition_epoch_changes_nothing(tmp_path: Path) -> None:
    _, partition = led(tmp_path)
    assert partition.log is not None
    assert partition.become_leader(state(partition, partition_epoch=5, leader_epoch=3), partition.log)
    stamp = partition.stamp
    assert not partition.become_leader(state(partition, partition_epoch=4, leader_epoch=4), partition.log)
    assert not partition.become_follower(state(partition, partition_epoch=4, leader_epoch=4, leader=2), partition.log)
    assert (partition.is_leader, partition.leader_epoch, partition.stamp) == (True, 3, stamp)


def test_the_same_partition_epoch_is_not_older(tmp_path: Path) -> None:
    """A controller that starts sends the states that brokers have already."""
    _, partition = led(tmp_path)
    assert partition.log is not None
    assert partition.become_leader(state(partition, partition_epoch=5, leader_epoch=3), partition.log)
    assert partition.become_follower(state(partition, partition_epoch=5, leader_epoch=4, leader=2), partition.log)
    assert (partition.is_leader, partition.leader_epoch) == (False, 4)


def test_the_same_leader_epoch_keeps_follower_offsets(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    append(cluster, b"0")
    partition.record_follower_fetch(2, 1, 0)
    assert partition.log is not None
    assert not partition.become_leader(state(partition, partition_epoch=1), partition.log)
    assert partition.followers[2].log_end_offset == 1
    assert (partition.isr, partition.high_watermark) == ((1, 2), 1)


def test_a_leader_that_does_not_know_the_end_of_its_predecessor(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    append(cluster, b"0", b"1")
    cluster.elect(1, isr=[1, 2])
    assert partition.high_watermark_lags
    partition.record_follower_fetch(2, 2, 0)
    assert not partition.high_watermark_lags


def test_every_change_of_role_moves_the_stamp(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    stamps = [partition.stamp]
    cluster.view.alive.add(2)
    for leader in (1, 2, 1):
        cluster.elect(leader, isr=[1, 2])
        stamps.append(partition.stamp)
    partition.retire(Error.KAFKA_STORAGE_ERROR, offline=True)
    stamps.append(partition.stamp)
    assert stamps == sorted(set(stamps))


def test_waiting_requests_end_with_leadership(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    cluster.view.alive.add(2)
    result = cluster.produce(1, b"0")
    cluster.run()
    assert len(partition.waiting_appends) == 1
    cluster.elect(2, isr=[1, 2])
    assert [append.error for append in result.result()] == [Error.NOT_LEADER_OR_FOLLOWER]
    with pytest.raises(KafkaError) as raised:
        partition.local_log()
    assert raised.value.error is Error.NOT_LEADER_OR_FOLLOWER
    assert partition.local_log(as_leader=False) is partition.log


def test_an_offline_partition_returns_storage_error(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    result = cluster.produce(1, b"0")
    cluster.run()
    partition.retire(Error.KAFKA_STORAGE_ERROR, offline=True)
    assert [append.error for append in result.result()] == [Error.KAFKA_STORAGE_ERROR]
    with pytest.raises(KafkaError) as raised:
        partition.local_log()
    assert raised.value.error is Error.KAFKA_STORAGE_ERROR
    assert repr(partition) == f"<Partition {TOPIC}-0 follower of -1, leader epoch 0>"


def test_the_high_watermark_of_a_follower_never_decreases(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    append(cluster, *[b"x"] * 5)
    assert partition.log is not None
    partition.become_follower(state(partition, partition_epoch=1, leader_epoch=1, leader=2), partition.log)
    advances = []
    for high_watermark, log_start in ((3, 0), (2, 0), (9, 1), (4, 4)):
        partition.follow_leader(high_watermark, log_start)
        advances.append((partition.high_watermark, partition.log.log_start_offset))
    assert advances == [(3, 0), (3, 0), (5, 1), (5, 4)]


@pytest.mark.spec("D5")
def test_a_follower_forgets_the_transactions_below_its_high_watermark(tmp_path: Path) -> None:
    """No client reads from it: only the leader's high watermark tells."""
    cluster, partition = led(tmp_path)
    append(cluster, *[b"x"] * 4)
    assert partition.log is not None
    unreplicated = partition.log._body.producers.unreplicated
    partition.become_follower(state(partition, partition_epoch=1, leader_epoch=1, leader=2), partition.log)
    partition.log.high_watermark = 0
    unreplicated.update({0: 1, 2: 3})
    partition.follow_leader(3, 0)
    assert unreplicated == {2: 3}


def test_the_low_watermark_counts_living_replicas(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    append(cluster, *[b"x"] * 5)
    for replica, start in ((2, 1), (3, 3)):
        partition.record_follower_fetch(replica, 5, start)
    assert partition.log is not None
    partition.log.delete_records_before(4)
    assert partition.low_watermark_of(lambda broker: True) == 1
    assert partition.low_watermark_of(lambda broker: broker == 3) == 3
    assert partition.low_watermark_of(lambda broker: False) == 4


def test_a_touch_counts_as_a_fetch_for_members_of_the_isr_only(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path)
    partition.record_follower_fetch(2, 0, 0)
    cluster.clock.advance(100)
    assert partition.touch_follower(2, 0, 0)
    assert partition.followers[2].last_caught_up_ms == cluster.clock.now_ms()
    assert not partition.touch_follower(2, 1, 0)
    assert not partition.touch_follower(3, 0, 0)
    assert not partition.touch_follower(9, 0, 0)
    cluster.elect(1, isr=[1, 3])
    partition.record_follower_fetch(2, 0, 0)
    assert not partition.touch_follower(2, 0, 0)
