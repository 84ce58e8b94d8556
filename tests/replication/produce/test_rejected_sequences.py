"""Batches after a rejected batch of an idempotent producer are rejected with the same error, until it is retried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.protocol.error_table import Error
from signalbox.replication.produce.rejected_sequences import RejectedSequences
from signalbox.storage.producers.producer_state import MAX_SEQUENCE, ProducerEntry
from tests.replication.memory_cluster import TOPIC, MemoryCluster, batch_of

pytestmark = pytest.mark.spec("D4")

PRODUCER = 4_000


def send(cluster: MemoryCluster, broker: int, sequence: int, *, epoch: int = 0, producer: int = PRODUCER) -> Any:
    batch = batch_of(b"%d" % sequence, producer_id=producer, producer_epoch=epoch, sequence=sequence)
    return cluster.brokers[broker].manager.append([((TOPIC, 0), batch)], -1, 60_000)


def error_of(result: Any) -> Error:
    return Error.of(result.result()[0].error)


def sent(cluster: MemoryCluster, broker: int, sequence: int, **how: int) -> Error:
    """The error code, after the replicas have fetched the batch."""
    result = send(cluster, broker, sequence, **how)
    cluster.advance(600)
    return error_of(result)


@pytest.fixture
def cluster(tmp_path: Path) -> MemoryCluster:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    assert sent(cluster, 1, 0) is Error.NONE
    return cluster


def test_a_reelected_leader_accepts_nothing_behind_a_rejected_batch(cluster: MemoryCluster) -> None:
    cluster.elect(2)
    assert error_of(send(cluster, 1, 1)) is Error.NOT_LEADER_OR_FOLLOWER
    cluster.elect(1)
    assert error_of(send(cluster, 1, 2)) is Error.NOT_LEADER_OR_FOLLOWER, "OUT_OF_ORDER_SEQUENCE_NUMBER without it"
    assert error_of(send(cluster, 1, 3)) is Error.NOT_LEADER_OR_FOLLOWER
    assert [sent(cluster, 1, number) for number in (1, 2, 3)] == [Error.NONE] * 3
    assert not cluster.brokers[1].partition().rejected.by_producer, "the producer has caught up"


def test_an_unknown_producer_must_begin_with_the_rejected_batch(cluster: MemoryCluster) -> None:
    cluster.elect(2)
    assert error_of(send(cluster, 1, 0, producer=7)) is Error.NOT_LEADER_OR_FOLLOWER
    cluster.elect(1)
    assert error_of(send(cluster, 1, 1, producer=7)) is Error.NOT_LEADER_OR_FOLLOWER
    assert sent(cluster, 1, 1) is Error.NONE, "another producer is not concerned"
    assert [sent(cluster, 1, number, producer=7) for number in (0, 1)] == [Error.NONE] * 2


def test_a_batch_that_another_leader_appended_is_not_missing(cluster: MemoryCluster) -> None:
    cluster.elect(2)
    assert error_of(send(cluster, 1, 1)) is Error.NOT_LEADER_OR_FOLLOWER
    assert sent(cluster, 2, 1) is Error.NONE
    cluster.elect(1)
    assert sent(cluster, 1, 2) is Error.NONE


def test_a_duplicate_batch_is_still_answered_with_its_first_offset(cluster: MemoryCluster) -> None:
    cluster.elect(2)
    assert error_of(send(cluster, 1, 1)) is Error.NOT_LEADER_OR_FOLLOWER
    cluster.elect(1)
    assert sent(cluster, 1, 0) is Error.NONE
    assert cluster.brokers[1].partition().high_watermark == 1


def test_a_new_producer_epoch_clears_the_rejection(cluster: MemoryCluster) -> None:
    cluster.elect(2)
    assert error_of(send(cluster, 1, 1)) is Error.NOT_LEADER_OR_FOLLOWER
    cluster.elect(1)
    assert sent(cluster, 1, 0, epoch=1) is Error.NONE


def test_too_few_replicas_in_sync_keep_the_order_too(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2], min_insync_replicas=2)
    cluster.create([1, 2])
    assert sent(cluster, 1, 0) is Error.NONE
    cluster.elect(1, isr=[1])
    assert error_of(send(cluster, 1, 1)) is Error.NOT_ENOUGH_REPLICAS
    cluster.elect(1, isr=[1, 2])
    assert error_of(send(cluster, 1, 2)) is Error.NOT_ENOUGH_REPLICAS
    assert [sent(cluster, 1, number) for number in (1, 2)] == [Error.NONE] * 2


def test_truncated_batches_must_be_retried_first(cluster: MemoryCluster) -> None:
    cluster.cut |= {(2, 1), (1, 2)}
    cluster.advance(1_000)  # the fetch that waits at the leader ends
    lost = [send(cluster, 1, number) for number in (1, 2)]
    cluster.run()
    cluster.elect(2)
    assert [error_of(result) for result in lost] == [Error.NOT_LEADER_OR_FOLLOWER] * 2
    other = send(cluster, 2, 0, producer=8)
    cluster.cut.clear()
    cluster.advance(2_000)
    assert error_of(other) is Error.NONE
    assert cluster.brokers[1].partition().high_watermark == 2, "two of ours are cut, one of the other's has come"
    cluster.elect(1)
    assert error_of(send(cluster, 1, 3)) is Error.NOT_LEADER_OR_FOLLOWER
    assert [sent(cluster, 1, number) for number in (1, 2, 3)] == [Error.NONE] * 3


def test_a_producer_that_comes_before_leader_and_isr_keeps_its_order(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    assert error_of(send(cluster, 1, 0)) is Error.UNKNOWN_TOPIC_OR_PARTITION
    cluster.create([1, 2])
    assert error_of(send(cluster, 1, 1)) is Error.NOT_LEADER_OR_FOLLOWER, "accepted as a first sequence without it"
    assert [sent(cluster, 1, number) for number in (0, 1)] == [Error.NONE] * 2


def test_a_restarted_broker_keeps_the_order_of_batches_before_leader_and_isr(cluster: MemoryCluster) -> None:
    cluster.kill(1)
    cluster.start(1)
    assert error_of(send(cluster, 1, 1)) is Error.NOT_LEADER_OR_FOLLOWER
    cluster.elect(1)
    assert error_of(send(cluster, 1, 2)) is Error.NOT_LEADER_OR_FOLLOWER
    assert [sent(cluster, 1, number) for number in (0, 1, 2)] == [Error.NONE] * 3, "the first is a repetition"


def test_an_emptied_log_expects_all_its_batches_again(cluster: MemoryCluster) -> None:
    assert sent(cluster, 1, 1) is Error.NONE
    partition = cluster.brokers[1].partition()
    cluster.elect(2)
    partition.truncate_fully_and_start_at(100)
    cluster.elect(1)
    assert error_of(send(cluster, 1, 2)) is Error.NOT_LEADER_OR_FOLLOWER


def test_a_new_leader_that_meets_a_later_batch_first_waits_for_the_one_before(cluster: MemoryCluster) -> None:
    cluster.elect(2)
    assert error_of(send(cluster, 2, 2)) is Error.NOT_LEADER_OR_FOLLOWER, "OUT_OF_ORDER_SEQUENCE_NUMBER without it"
    assert error_of(send(cluster, 2, 3)) is Error.NOT_LEADER_OR_FOLLOWER
    assert [sent(cluster, 2, number) for number in (1, 2, 3)] == [Error.NONE] * 3


def test_a_gap_behind_own_appends_of_the_new_leader_is_an_error(cluster: MemoryCluster) -> None:
    cluster.elect(2)
    assert sent(cluster, 2, 1) is Error.NONE
    assert error_of(send(cluster, 2, 3)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_that_stays_is_named_after_a_while(cluster: MemoryCluster) -> None:
    cluster.elect(2)
    assert error_of(send(cluster, 2, 2)) is Error.NOT_LEADER_OR_FOLLOWER
    cluster.advance(4_900)
    assert error_of(send(cluster, 2, 2)) is Error.NOT_LEADER_OR_FOLLOWER
    cluster.advance(100)
    assert error_of(send(cluster, 2, 2)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert error_of(send(cluster, 2, 4)) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER


# -- sequences only


def batch(sequence: int, epoch: int = 0) -> bytearray:
    return batch_of(b"x", producer_id=PRODUCER, producer_epoch=epoch, sequence=sequence)


def entry(last_sequence: int, epoch: int = 0) -> ProducerEntry:
    return ProducerEntry(epoch, ((last_sequence, last_sequence, 10, 0, 0),), 0)


def test_the_earliest_missing_batch_counts() -> None:
    rejected = RejectedSequences()
    for sequence in (7, 5, 6):
        rejected.note(batch(sequence), Error.NOT_LEADER_OR_FOLLOWER, {}, 0)
    assert rejected.error_for(batch(6), {}, 1) is Error.NOT_LEADER_OR_FOLLOWER
    assert rejected.error_for(batch(5), {}, 1) is None
    assert rejected.error_for(batch(6), {PRODUCER: entry(5)}, 1) is None


def test_sequences_go_round() -> None:
    rejected = RejectedSequences()
    rejected.note(batch(MAX_SEQUENCE), Error.NOT_LEADER_OR_FOLLOWER, {PRODUCER: entry(MAX_SEQUENCE - 1)}, 0)
    assert rejected.error_for(batch(0), {PRODUCER: entry(MAX_SEQUENCE - 1)}, 1) is Error.NOT_LEADER_OR_FOLLOWER
    assert rejected.error_for(batch(0), {PRODUCER: entry(MAX_SEQUENCE)}, 1) is None
    assert not rejected.by_producer


def test_old_batches_and_batches_without_sequence_are_not_recorded() -> None:
    rejected = RejectedSequences()
    rejected.note(batch_of(b"x"), Error.NOT_LEADER_OR_FOLLOWER, {}, 0)
    rejected.note(b"short", Error.NOT_LEADER_OR_FOLLOWER, {}, 0)
    rejected.note(batch(4), Error.NOT_LEADER_OR_FOLLOWER, {PRODUCER: entry(4)}, 0)
    rejected.note(batch(9, epoch=1), Error.NOT_LEADER_OR_FOLLOWER, {PRODUCER: entry(1, epoch=2)}, 0)
    assert not rejected.by_producer
    rejected.note(batch(4), Error.NOT_LEADER_OR_FOLLOWER, {}, 0)
    assert rejected.error_for(batch(5), {}, 120_000) is None
    assert not rejected.by_producer


def test_each_rejection_is_forgotten_in_its_own_time() -> None:
    rejected = RejectedSequences()
    rejected.note(batch(4), Error.NOT_LEADER_OR_FOLLOWER, {}, 0)
    for now_ms in (50_000, 100_000):
        rejected.note(batch_of(b"x", producer_id=8), Error.NOT_LEADER_OR_FOLLOWER, {}, now_ms)
    assert rejected.error_for(batch_of(b"x", producer_id=9), {}, 130_000) is None
    assert list(rejected.by_producer) == [8], "another producer's batch has swept the old one out"
    assert rejected.error_for(batch_of(b"x", producer_id=8, sequence=1), {}, 130_000) is Error.NOT_LEADER_OR_FOLLOWER


def test_memory_is_bounded() -> None:
    rejected = RejectedSequences()
    for producer in range(3_000):
        rejected.note(batch_of(b"x", producer_id=producer), Error.NOT_LEADER_OR_FOLLOWER, {}, 0)
    later = [batch_of(b"x", producer_id=producer, sequence=1) for producer in (0, 1_999, 2_000, 2_999)]
    answers = [rejected.error_for(sent_later, {}, 1) for sent_later in later]
    assert answers == [None, None, Error.NOT_LEADER_OR_FOLLOWER, Error.NOT_LEADER_OR_FOLLOWER]
