"""Consumer fetches: waiting, limits, sessions and errors, with every version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.common.ids import ZERO_UUID
from signalbox.common.waiting.promise import Promise
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from tests.replication.memory_cluster import (
    FETCH_VERSION,
    TOPIC,
    TOPIC_ID,
    MemoryCluster,
    fetch_request,
    over_the_wire,
    partition_data,
    values_of,
)


def with_records(tmp_path: Path, *values: bytes, partitions: int = 1) -> MemoryCluster:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.view.alive.update({2, 3})
    cluster.create([1], partitions=partitions)
    for index in range(partitions):
        for value in values:
            cluster.produce(1, value, index=index)
    cluster.run()
    return cluster


def fetch(cluster: MemoryCluster, request: FetchRequest, version: int = FETCH_VERSION) -> Promise[FetchResponse]:
    return cluster.brokers[1].manager.fetches.fetch(over_the_wire(request, version), version)


def several(
    *fetch_partition: tuple[int, int], max_bytes: int = 1 << 20, part_max: int = 1 << 20, **fields: Any
) -> FetchRequest:
    """A fetch of several partitions as (index, offset)."""
    partitions = [
        FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=part_max)
        for index, offset in fetch_partition
    ]
    topic = FetchRequest.FetchTopic(topic_id=TOPIC_ID, partitions=partitions)
    return FetchRequest(max_bytes=max_bytes, min_bytes=1, topics=[topic] if fetch_partition else [], **fields)


def sizes(response: FetchResponse) -> dict[int, int]:
    return {data.partition_index: len(data.records or b"") for topic in response.responses for data in topic.partitions}


@pytest.mark.parametrize("version", range(4, 19))
def test_every_version(tmp_path: Path, version: int) -> None:
    cluster = with_records(tmp_path, b"a", b"b")
    response = over_the_wire(fetch(cluster, fetch_request(1), version).result(), version)
    assert values_of(partition_data(response).records) == [b"b"]
    assert (response.responses[0].topic, response.responses[0].topic_id) == (
        (TOPIC, ZERO_UUID) if version < 13 else ("", TOPIC_ID)
    )
    assert partition_data(response).high_watermark == 2


def test_a_fetch_at_the_end_waits_for_the_high_watermark(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"a")
    answer = fetch(cluster, fetch_request(1, max_wait_ms=500))
    assert not answer.is_done
    cluster.produce(1, b"b")
    cluster.run()
    assert values_of(partition_data(answer.result()).records) == [b"b"]


def test_uncommitted_records_are_not_returned(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1, 2])
    cluster.produce(1, b"a", acks=1)
    cluster.run()
    answer = fetch(cluster, fetch_request(0, max_wait_ms=500))
    assert not answer.is_done
    cluster.brokers[1].partition().record_follower_fetch(2, 1, 0)
    cluster.run()
    assert values_of(partition_data(answer.result()).records) == [b"a"]


def test_it_waits_for_min_bytes_but_not_for_ever(tmp_path: Path) -> None:
    cluster = with_records(tmp_path)
    answers = [fetch(cluster, fetch_request(0, max_wait_ms=ms, min_bytes=1_000)) for ms in (500, 700)]
    cluster.produce(1, b"x" * 300)
    cluster.advance(499)
    assert [answer.is_done for answer in answers] == [False, False]
    cluster.advance(1)
    assert values_of(partition_data(answers[0].result()).records) == [b"x" * 300]
    cluster.produce(1, b"y" * 900)
    cluster.run()
    assert values_of(partition_data(answers[1].result()).records) == [b"x" * 300, b"y" * 900]


def test_an_empty_answer_when_the_time_is_over(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"a")
    answer = fetch(cluster, fetch_request(1, max_wait_ms=100))
    cluster.advance(100)
    data = partition_data(answer.result())
    assert (data.error_code, data.records, data.high_watermark) == (0, b"", 1)
    assert cluster.brokers[1].manager.scheduler.purgatory.size == 0


def test_losing_leadership_ends_the_wait(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    cluster.run()
    answer = fetch(cluster, fetch_request(0, max_wait_ms=500, leader_epoch=0))
    cluster.elect(2)
    cluster.run()
    data = partition_data(over_the_wire(answer.result(), FETCH_VERSION))
    assert data.error_code == Error.FENCED_LEADER_EPOCH
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (2, 1)


def test_deleting_the_topic_ends_the_wait(tmp_path: Path) -> None:
    cluster = with_records(tmp_path)
    answer = fetch(cluster, fetch_request(0, max_wait_ms=500))
    cluster.view.rows.clear()
    cluster.stop_replica(1, delete=True)
    cluster.run()
    assert partition_data(answer.result()).error_code == Error.UNKNOWN_TOPIC_OR_PARTITION


# -- limits


def test_the_first_batch_comes_whatever_the_limits(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"x" * 1_000, partitions=3)
    found = sizes(fetch(cluster, several((0, 0), (1, 0), (2, 0), max_bytes=10, part_max=10)).result())
    assert found[0] > 1_000
    assert (found[1], found[2]) == (0, 0)


def test_partitions_share_max_bytes(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"x" * 1_000, b"x" * 1_000, partitions=3)
    one = sizes(fetch(cluster, several((0, 0), part_max=1_000)).result())[0]
    found = sizes(fetch(cluster, several((0, 0), (1, 0), (2, 0), max_bytes=2 * one + 100)).result())
    assert (found[0], found[1], found[2]) == (2 * one, 0, 0)
    found = sizes(fetch(cluster, several((0, 0), (1, 0), (2, 0), max_bytes=2 * one, part_max=one)).result())
    assert (found[0], found[1], found[2]) == (one, one, 0)


def test_a_fetch_inside_a_batch_gives_the_batch(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    cluster.produce(1, b"0", b"1", b"2")
    cluster.run()
    assert values_of(partition_data(fetch(cluster, fetch_request(2)).result()).records) == [b"0", b"1", b"2"]


# -- errors


@pytest.mark.parametrize(
    ("offset", "leader_epoch", "last_fetched_epoch", "error"),
    [
        (0, 0, -1, Error.NONE),
        (3, 0, -1, Error.OFFSET_OUT_OF_RANGE),
        (0, 1, -1, Error.UNKNOWN_LEADER_EPOCH),
        (0, 0, 0, Error.NONE),
        (0, 0, 5, Error.OFFSET_OUT_OF_RANGE),
    ],
)
def test_partition_errors_come_at_once(
    tmp_path: Path, offset: int, leader_epoch: int, last_fetched_epoch: int, error: Error
) -> None:
    cluster = with_records(tmp_path, b"a", b"b")
    request = fetch_request(offset, max_wait_ms=500, leader_epoch=leader_epoch, last_fetched_epoch=last_fetched_epoch)
    assert partition_data(fetch(cluster, request).result()).error_code == error


@pytest.mark.parametrize(
    ("leader_epoch", "error"), [(0, Error.UNKNOWN_LEADER_EPOCH), (-1, Error.NOT_LEADER_OR_FOLLOWER)]
)
@pytest.mark.parametrize("offset", [0, 9])
def test_a_broker_that_is_no_replica_is_rejected_before_the_log_is_read(
    tmp_path: Path, offset: int, leader_epoch: int, error: Error
) -> None:
    cluster = with_records(tmp_path, b"a", b"b")
    request = fetch_request(offset, replica=(9, 1), leader_epoch=leader_epoch, last_fetched_epoch=0)
    assert partition_data(fetch(cluster, request).result()).error_code == error


def test_before_the_log_start(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"a", b"b")
    cluster.brokers[1].partition().local_log().delete_records_before(1)
    assert partition_data(fetch(cluster, fetch_request(0)).result()).error_code == Error.OFFSET_OUT_OF_RANGE
    assert partition_data(fetch(cluster, fetch_request(1)).result()).log_start_offset == 1


@pytest.mark.parametrize("level", [2, -1, 100])
def test_isolation_levels_that_do_not_exist(tmp_path: Path, level: int) -> None:
    cluster = with_records(tmp_path, b"a")
    assert fetch(cluster, fetch_request(0, isolation_level=level)).result().error_code == Error.INVALID_REQUEST


def test_read_committed_lists_aborted_transactions(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"a")
    requests = (fetch_request(0, isolation_level=level) for level in (1, 0))
    committed, uncommitted = (partition_data(fetch(cluster, request).result()) for request in requests)
    assert (committed.aborted_transactions, uncommitted.aborted_transactions) == ([], None)
    assert values_of(committed.records) == values_of(uncommitted.records) == [b"a"]
    assert committed.last_stable_offset == 1


def test_topics_that_may_not_be_read_do_not_end_the_wait(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"a")
    request = fetch_request(1, max_wait_ms=200)
    request.topics.append(
        FetchRequest.FetchTopic(topic_id=bytes(reversed(TOPIC_ID)), partitions=[FetchRequest.FetchPartition()])
    )
    answer = fetch(cluster, request)
    assert not answer.is_done
    cluster.advance(200)
    codes = [data.error_code for topic in answer.result().responses for data in topic.partitions]
    assert codes == [Error.NONE, Error.UNKNOWN_TOPIC_ID]
    denied = cluster.brokers[1].manager.fetches.fetch(
        fetch_request(0, max_wait_ms=200), FETCH_VERSION, lambda topic: False
    )
    assert partition_data(denied.result()).error_code == Error.TOPIC_AUTHORIZATION_FAILED


def test_a_topic_id_that_was_given_to_another_topic(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"a")
    request = fetch_request(0)
    request.topics[0].topic_id = bytes(reversed(TOPIC_ID))
    cluster.brokers[1].manager.hosted._names[bytes(reversed(TOPIC_ID))] = TOPIC
    assert partition_data(fetch(cluster, request).result()).error_code == Error.INCONSISTENT_TOPIC_ID


# -- consumers that read from followers


def test_consumers_may_read_from_a_follower_up_to_its_high_watermark(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    for value in (b"a", b"b"):
        cluster.produce(1, value)
        cluster.run()
    data, values = cluster.consume(2)
    assert (data.error_code, data.high_watermark, values) == (0, 1, [b"a"])
    assert cluster.consume(2, offset=9)[0].error_code == Error.NOT_LEADER_OR_FOLLOWER
    old = cluster.brokers[2].manager.fetches.fetch(over_the_wire(fetch_request(0), 10), 10).result()
    assert partition_data(old).error_code == Error.NOT_LEADER_OR_FOLLOWER


# -- sessions


def test_a_session_from_full_to_incremental_to_closed(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"a", partitions=3)
    full = fetch(cluster, several((0, 0), (1, 1), (2, 1), session_epoch=0)).result()
    assert (full.session_id > 0, sorted(sizes(full))) == (True, [0, 1, 2])
    nothing_new = fetch(cluster, several((0, 1), session_id=full.session_id, session_epoch=1)).result()
    assert (nothing_new.session_id, nothing_new.responses) == (full.session_id, [])
    cluster.produce(1, b"b", index=2)
    cluster.run()
    changed = fetch(cluster, several(session_id=full.session_id, session_epoch=2)).result()
    assert list(sizes(changed)) == [2]
    wrong = fetch(cluster, several(session_id=full.session_id, session_epoch=2)).result()
    assert (wrong.error_code, wrong.session_id) == (Error.INVALID_FETCH_SESSION_EPOCH, 0)
    closed = fetch(cluster, several((0, 1), session_id=full.session_id, session_epoch=-1)).result()
    assert (closed.session_id, sorted(sizes(closed))) == (0, [0])
    assert len(cluster.brokers[1].manager.sessions) == 0


def test_a_parked_incremental_fetch_returns_only_changes(tmp_path: Path) -> None:
    cluster = with_records(tmp_path, b"a", partitions=3)
    full = fetch(cluster, several((0, 1), (1, 1), (2, 1), session_epoch=0)).result()
    answer = fetch(cluster, several(session_id=full.session_id, session_epoch=1, max_wait_ms=500))
    assert not answer.is_done
    cluster.produce(1, b"b", index=1)
    cluster.run()
    assert [(index, size > 0) for index, size in sizes(answer.result()).items()] == [(1, True)]


def test_a_fetch_without_anything_to_read_does_not_wait(tmp_path: Path) -> None:
    cluster = with_records(tmp_path)
    assert fetch(cluster, several(max_wait_ms=500)).result().responses == []


@pytest.mark.spec("D12")
def test_a_withdrawn_response_is_returned_again_in_its_session(tmp_path: Path) -> None:
    """The next fetch returns what a throttled client did not get."""
    cluster = with_records(tmp_path, b"a", partitions=2)
    manager = cluster.brokers[1].manager
    begun = several((0, 0), (1, 0), session_epoch=0)
    first = fetch(cluster, begun).result()
    manager.fetches.withdraw(begun, first)
    assert (first.session_id, len(manager.sessions)) == (0, 0)
    full = fetch(cluster, several((0, 1), (1, 0), session_epoch=0)).result()
    cluster.produce(1, b"b", index=1)
    cluster.run()
    fetch_partition = several(session_id=full.session_id, session_epoch=1)
    changed = fetch(cluster, fetch_partition).result()
    assert list(sizes(changed)) == [1]
    manager.fetches.withdraw(fetch_partition, changed)
    assert changed.session_id == full.session_id
    again = fetch(cluster, several(session_id=full.session_id, session_epoch=2)).result()
    assert sizes(again) == sizes(changed)
