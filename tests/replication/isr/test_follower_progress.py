"""Followers' fetches at the leader: progress, ISR, unknown replicas, and short waits while it expects more fetches."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchResponse
from tests.replication.memory_cluster import FETCH_VERSION, MemoryCluster, fetch_request, partition_data

pytestmark = pytest.mark.spec("D3")


def led(tmp_path: Path, isr: list[int] | None = None, partitions: int = 1) -> MemoryCluster:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.view.alive.update({2, 3})
    cluster.create([1, 2, 3], partitions=partitions)
    if isr is not None:
        cluster.elect(1, isr=isr)
    return cluster


def follow(
    cluster: MemoryCluster, replica: int, offset: int, *, broker_epoch: int = 5, index: int = 0, wait: int = 0
) -> Promise[FetchResponse]:
    request = fetch_request(offset, index, replica=(replica, broker_epoch), max_wait_ms=wait)
    return cluster.brokers[1].manager.fetches.fetch(request, FETCH_VERSION)


def test_a_follower_fetch_commits_and_returns_the_high_watermark(tmp_path: Path) -> None:
    cluster = led(tmp_path)
    cluster.produce(1, b"a", acks=1)
    cluster.run()
    assert partition_data(follow(cluster, 2, 1).result()).high_watermark == 0
    assert partition_data(follow(cluster, 3, 1).result()).high_watermark == 1


def test_a_follower_that_caught_up_joins_the_isr(tmp_path: Path) -> None:
    cluster = led(tmp_path, isr=[1])
    cluster.produce(1, b"a")
    cluster.run()
    follow(cluster, 2, 0)
    cluster.run()
    assert cluster.brokers[1].partition().isr == (1,)
    follow(cluster, 2, 1)
    cluster.run()
    assert cluster.brokers[1].partition().isr == (1, 2)


@pytest.mark.parametrize(
    ("replica", "epochs", "error"),
    [(9, [1], Error.NOT_LEADER_OR_FOLLOWER), (2, [5, 4], Error.NOT_LEADER_OR_FOLLOWER), (2, [5, -1, 6], Error.NONE)],
)
def test_unknown_replicas_and_old_broker_epochs_are_rejected(
    tmp_path: Path, replica: int, epochs: list[int], error: Error
) -> None:
    cluster = led(tmp_path)
    answers = [follow(cluster, replica, 0, broker_epoch=epoch) for epoch in epochs]
    assert partition_data(answers[-1].result()).error_code == error


def test_a_new_broker_epoch_is_recorded_for_unchanged_partitions_too(tmp_path: Path) -> None:
    """Otherwise every ISR with this broker has its old broker epoch, and the controller rejects them all (KIP-903)."""
    cluster = led(tmp_path)
    manager = cluster.brokers[1].manager

    def fetch(broker_epoch: int, session: tuple[int, int], *, names: bool = False) -> FetchResponse:
        request = fetch_request(replica=(2, broker_epoch), session=session)
        request.topics = request.topics if names else []
        return manager.fetches.fetch(request, FETCH_VERSION).result()

    session_id = fetch(5, (0, 0), names=True).session_id
    for epoch in (1, 2):
        assert fetch(5, (session_id, epoch)).responses == []
    assert cluster.brokers[1].partition().followers[2].broker_epoch == 5
    fetch(8, (session_id, 3))
    assert cluster.brokers[1].partition().followers[2].broker_epoch == 8


def test_a_follower_waits_for_appends_not_for_the_high_watermark(tmp_path: Path) -> None:
    cluster = led(tmp_path)
    follow(cluster, 3, 0)
    answer = follow(cluster, 2, 0, wait=500)
    assert not answer.is_done
    cluster.produce(1, b"a", acks=1)
    cluster.run()
    assert len(partition_data(answer.result()).records or b"") > 0


def test_the_offset_of_a_diverging_follower_is_not_recorded(tmp_path: Path) -> None:
    cluster = led(tmp_path)
    cluster.produce(1, b"a", acks=1)
    cluster.run()
    cluster.elect(1, isr=[1, 2])
    request = fetch_request(2, replica=(2, 5), last_fetched_epoch=0, max_wait_ms=500)
    data = partition_data(cluster.brokers[1].manager.fetches.fetch(request, FETCH_VERSION).result())
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset, data.records) == (0, 1, b"")
    assert cluster.brokers[1].partition().followers[2].log_end_offset == -1


def test_a_new_partition_does_not_wait_for_the_end_of_an_old_fetch(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.advance(5_000)
    started = cluster.clock.now_ms()
    cluster.create([1, 2, 3], partitions=2)
    cluster.tell(is_new=True)
    result = cluster.produce(1, b"a", index=1)
    cluster.run()
    while not result.is_done:
        cluster.advance(5, step_ms=5)
    assert result.result()[0].error == 0
    assert cluster.clock.now_ms() - started <= 20


def test_an_expected_follower_is_parked_briefly(tmp_path: Path) -> None:
    cluster = led(tmp_path, partitions=2)
    follow(cluster, 3, 0)
    parked = follow(cluster, 2, 0, wait=500)
    cluster.advance(10, step_ms=10)
    assert parked.is_done, "broker 2 has not asked for the second partition yet"
    follow(cluster, 2, 0, index=1)
    parked = follow(cluster, 2, 0, wait=500)
    cluster.advance(499)
    assert not parked.is_done
    cluster.advance(1)
    assert parked.is_done


def test_no_follower_is_expected_after_leadership_ends(tmp_path: Path) -> None:
    cluster = led(tmp_path, partitions=2)
    cluster.elect(2, index=1, isr=[1, 2, 3])
    follow(cluster, 2, 0)
    parked = follow(cluster, 2, 0, wait=500)
    cluster.advance(499)
    assert not parked.is_done


def test_the_longest_wait_grows_while_expected_fetches_are_missing(tmp_path: Path) -> None:
    cluster = led(tmp_path, partitions=2)
    progress = cluster.brokers[1].manager.fetches._progress
    waits = []
    for ms in (0, 39, 61, 900, 10_000):
        cluster.clock.advance(ms)
        waits.append(progress.longest_wait_ms(2, 500))
    assert waits == [10, 10, 25, 250, 500]
