"""Transactions on a replicated partition: markers, reads of committed records, change of leader, deleted records."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.storage.producers.transaction_verification import SWITCHED_OFF
from tests.replication.memory_cluster import (
    FETCH_VERSION,
    TOPIC,
    MemoryCluster,
    fetch_request,
    over_the_wire,
    partition_data,
    values_of,
)
from tests.replication.memory_transactions import end_transaction, produce_in_transaction, transactional_batch

pytestmark = pytest.mark.spec("D5")

COMMITTED = 1  # isolation level


def replicated(tmp_path: Path, broker_ids: tuple[int, ...] = (1, 2, 3)) -> MemoryCluster:
    cluster = MemoryCluster(tmp_path, broker_ids)
    cluster.create(list(broker_ids))
    cluster.run()
    return cluster


def read(
    cluster: MemoryCluster, offset: int = 0, isolation: int = COMMITTED, broker_id: int = 1
) -> FetchResponse.PartitionData:
    request = fetch_request(offset, isolation_level=isolation)
    response = cluster.brokers[broker_id].manager.fetches.fetch(request, FETCH_VERSION)
    return partition_data(over_the_wire(response.result(), FETCH_VERSION))


def aborted(data: FetchResponse.PartitionData) -> list[tuple[int, int]] | None:
    if data.aborted_transactions is None:
        return None
    return [(transaction.producer_id, transaction.first_offset) for transaction in data.aborted_transactions]


def latest(cluster: MemoryCluster, isolation: int, broker_id: int = 1) -> int:
    partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
    topic = ListOffsetsRequest.ListOffsetsTopic(name=TOPIC, partitions=[partition])
    request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=[topic])
    response = cluster.brokers[broker_id].manager.list_offsets(request, 9).result()
    offset: int = response.topics[0].partitions[0].offset
    return offset


# -- reads


def test_no_replica_keeps_ended_transactions_although_no_client_reads(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    for sequence in range(5):
        produce_in_transaction(cluster, 1, 5, b"a", sequence=sequence)
        end_transaction(cluster, 1, 5, is_commit=True)
        cluster.run()
    for broker in cluster.brokers.values():
        log = broker.partition().log
        assert log is not None
        assert len(log._body.producers.unreplicated) <= 1


def test_readers_of_committed_records_end_at_the_last_stable_offset(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    cluster.produce(1, b"a")
    produce_in_transaction(cluster, 1, 5, b"b", b"c")
    cluster.produce(1, b"d")
    cluster.run()
    data = read(cluster)
    assert values_of(data.records) == [b"a"]
    assert (data.last_stable_offset, data.high_watermark, aborted(data)) == (1, 4, [])
    data = read(cluster, isolation=0)
    assert values_of(data.records) == [b"a", b"b", b"c", b"d"]
    assert (data.last_stable_offset, aborted(data)) == (1, None)
    assert [latest(cluster, isolation) for isolation in (0, COMMITTED)] == [4, 1]
    end_transaction(cluster, 1, 5, is_commit=True)
    cluster.run()
    data = read(cluster)
    assert values_of(data.records)[:4] == [b"a", b"b", b"c", b"d"]
    assert (data.last_stable_offset, aborted(data)) == (5, [])
    assert [latest(cluster, isolation) for isolation in (0, COMMITTED)] == [5, 5]


def test_aborted_transactions_are_named(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    produce_in_transaction(cluster, 1, 5, b"a")
    produce_in_transaction(cluster, 1, 6, b"b")
    end_transaction(cluster, 1, 5, is_commit=False)
    end_transaction(cluster, 1, 6, is_commit=True)
    cluster.run()
    assert aborted(read(cluster)) == [(5, 0)]
    assert aborted(read(cluster, 2)) == [(5, 0)]
    assert aborted(read(cluster, 3)) == []
    assert aborted(read(cluster, 4)) == []
    assert aborted(read(cluster, isolation=0)) is None


def test_a_parked_read_wakes_when_the_marker_is_replicated(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    produce_in_transaction(cluster, 1, 5, b"a")
    cluster.run()
    request = fetch_request(0, max_wait_ms=60_000, isolation_level=COMMITTED)
    waiting = cluster.brokers[1].manager.fetches.fetch(request, FETCH_VERSION)
    cluster.cut.update({(2, 1), (3, 1)})
    end_transaction(cluster, 1, 5, is_commit=True)
    cluster.run()
    assert not waiting.is_done
    cluster.cut.clear()
    cluster.advance(2_000)
    assert values_of(partition_data(waiting.result()).records)[0] == b"a"


def test_a_session_returns_committed_records(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    produce_in_transaction(cluster, 1, 5, b"a")
    cluster.run()
    fetches = cluster.brokers[1].manager.fetches
    request = fetch_request(0, session=(0, 0), isolation_level=COMMITTED)
    first = fetches.fetch(request, FETCH_VERSION).result()
    assert not partition_data(first).records
    request = fetch_request(0, session=(first.session_id, 1), max_wait_ms=60_000, isolation_level=COMMITTED)
    request.topics = []
    waiting = fetches.fetch(request, FETCH_VERSION)
    assert not waiting.is_done
    end_transaction(cluster, 1, 5, is_commit=False)
    cluster.run()
    assert aborted(partition_data(waiting.result())) == [(5, 0)]


def test_deleted_records_are_stable(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    produce_in_transaction(cluster, 1, 5, b"a", b"b", b"c")
    cluster.run()
    log = cluster.brokers[1].partition().log
    assert log is not None
    log.delete_records_before(2)
    assert latest(cluster, COMMITTED) == 2
    assert values_of(read(cluster, 2).records) == []


# -- leaders and followers


def test_a_new_leader_has_the_last_stable_offset_of_the_old_one(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    produce_in_transaction(cluster, 1, 5, b"a")
    produce_in_transaction(cluster, 1, 6, b"b")
    end_transaction(cluster, 1, 5, is_commit=False)
    cluster.run()
    cluster.advance(1_000)
    assert cluster.brokers[2].partition().last_stable_offset == 1
    cluster.kill(1)
    cluster.elect(2)
    cluster.run()
    assert latest(cluster, COMMITTED, broker_id=2) == 1
    assert aborted(read(cluster, broker_id=2)) == [(5, 0)]
    ended = end_transaction(cluster, 2, 6, is_commit=True)
    cluster.run()
    assert [append.error for append in ended.result()] == [0]
    assert latest(cluster, COMMITTED, broker_id=2) == 4


def test_a_marker_that_was_not_replicated_is_truncated_and_written_again(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    produce_in_transaction(cluster, 1, 5, b"a")
    cluster.run()
    cluster.cut.update({(2, 1), (3, 1)})
    cluster.advance(1_000)  # fetches that were parked have ended
    unfinished = end_transaction(cluster, 1, 5, is_commit=False)
    cluster.run()
    assert not unfinished.is_done
    cluster.elect(2)
    cluster.run()
    assert [append.error for append in unfinished.result()] == [Error.NOT_LEADER_OR_FOLLOWER]
    cluster.cut.clear()
    cluster.advance(2_000)
    log = cluster.brokers[1].partition().log
    assert log is not None
    assert (log.log_end_offset, log.producers[5].transaction_first_offset) == (1, 0)
    end_transaction(cluster, 2, 5, is_commit=True)
    cluster.run()
    cluster.advance(2_000)
    assert [cluster.brokers[broker_id].partition().last_stable_offset for broker_id in (1, 2, 3)] == [2, 2, 2]
    assert aborted(read(cluster, broker_id=2)) == []
    assert cluster.brokers[1].content() == cluster.brokers[2].content()


# -- markers


def test_a_marker_waits_for_all_in_sync_replicas(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)
    cluster.cut.update({(2, 1), (3, 1)})
    ended = end_transaction(cluster, 1, 5, is_commit=True)
    cluster.run()
    assert not ended.is_done
    cluster.cut.clear()
    cluster.advance(2_000)
    [append] = ended.result()
    assert (append.error, append.base_offset) == (0, 0)


def test_markers_are_rejected(tmp_path: Path) -> None:
    cluster = replicated(tmp_path)

    def error(broker_id: int, **fields: int) -> Error:
        ended = end_transaction(cluster, broker_id, 5, is_commit=True, **fields)
        cluster.run()
        return Error.of(ended.result()[0].error)

    assert error(1, epoch=2, coordinator_epoch=3) is Error.NONE
    assert error(1, epoch=2, coordinator_epoch=2) is Error.TRANSACTION_COORDINATOR_FENCED
    assert error(1, epoch=1, coordinator_epoch=3) is Error.INVALID_PRODUCER_EPOCH
    assert error(2) is Error.NOT_LEADER_OR_FOLLOWER
    manager = cluster.brokers[1].manager
    [append] = manager.append_markers([(("nowhere", 0), bytes(70), 0)], 1_000).result()
    assert append.error == Error.UNKNOWN_TOPIC_OR_PARTITION


def test_a_marker_needs_enough_replicas(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1], min_insync_replicas=2)
    cluster.view.alive.add(2)
    cluster.create([1, 2])
    cluster.elect(1, isr=[1])
    cluster.run()
    [append] = end_transaction(cluster, 1, 5, is_commit=True).result()
    assert append.error == Error.NOT_ENOUGH_REPLICAS


def test_a_coordinators_batch_does_not_wait_for_rejected_sequences(tmp_path: Path) -> None:
    manager = replicated(tmp_path, (1,)).brokers[1].manager
    sequence, expires_ms = 2**30 + 5, 2**62
    manager.hosted.find(TOPIC, 0).rejected.by_producer[5] = (0, sequence, Error.NOT_LEADER_OR_FOLLOWER, expires_ms)
    batch = transactional_batch(b"v", producer_id=5, sequence=-1)
    guard_by_partition = {(TOPIC, 0): SWITCHED_OFF}
    result = manager.append([((TOPIC, 0), batch)], -1, 1_000, from_client=False, guard_by_partition=guard_by_partition)
    assert Error.of(result.appends[0].error) is Error.NONE
