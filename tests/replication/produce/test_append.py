"""Produce: acks, rejections, duplicates, deadlines, several partitions in one request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.cooperative_task import CooperativeTask
from signalbox.protocol.error_table import Error
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.storage.files.faulty_file_system import FaultRule, FaultyFileSystem
from tests.protocol.records.poison import MISNUMBERED, poisoned
from tests.replication.memory_cluster import TOPIC, MemoryCluster, batch_of


def alone(tmp_path: Path, *, replicas: list[int] | None = None, min_insync_replicas: int = 1) -> MemoryCluster:
    cluster = MemoryCluster(tmp_path, [1], min_insync_replicas=min_insync_replicas)
    cluster.view.alive.update({2, 3})
    cluster.create(replicas or [1], partitions=3)
    return cluster


def errors(result: object) -> list[Error]:
    return [Error.of(pending.error) for pending in result.result()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_an_append_is_answered_when_it_is_written(tmp_path: Path, acks: int) -> None:
    cluster = alone(tmp_path)
    result = cluster.produce(1, b"a", b"b", acks=acks)
    assert not result.is_done
    cluster.run()
    [pending] = result.result()
    assert (pending.error, pending.base_offset, pending.log_append_time_ms, pending.log_start_offset) == (0, 0, -1, 0)


def test_acks_all_waits_for_every_replica_in_sync(tmp_path: Path) -> None:
    cluster = alone(tmp_path, replicas=[1, 2, 3])
    result = cluster.produce(1, b"a")
    cluster.run()
    partition = cluster.brokers[1].partition()
    partition.record_follower_fetch(2, 1, 0)
    assert not result.is_done
    partition.record_follower_fetch(3, 1, 0)
    assert errors(result) == [Error.NONE]


def test_replicas_that_are_too_slow_cost_the_request_its_time(tmp_path: Path) -> None:
    cluster = alone(tmp_path, replicas=[1, 2])
    result = cluster.produce(1, b"a", timeout_ms=300)
    cluster.advance(299)
    assert not result.is_done
    cluster.advance(1)
    assert errors(result) == [Error.REQUEST_TIMED_OUT]
    assert result.result()[0].base_offset == -1
    cluster.brokers[1].partition().record_follower_fetch(2, 1, 0)
    assert cluster.brokers[1].partition().high_watermark == 1, "it was appended all the same"


def test_too_few_replicas_in_sync(tmp_path: Path) -> None:
    cluster = alone(tmp_path, replicas=[1, 2], min_insync_replicas=2)
    late = cluster.produce(1, b"a")
    cluster.run()
    cluster.elect(1, isr=[1])
    result = cluster.produce(1, b"b")
    assert errors(result) == [Error.NOT_ENOUGH_REPLICAS]
    assert result.result()[0].error_message == "1 replicas in sync, min.insync.replicas is 2"
    assert errors_after(cluster, acks=1) == [Error.NONE]
    assert not late.is_done


def errors_after(cluster: MemoryCluster, acks: int) -> list[Error]:
    result = cluster.produce(1, b"x", acks=acks)
    cluster.run()
    return errors(result)


def test_committed_but_no_longer_safe(tmp_path: Path) -> None:
    cluster = alone(tmp_path, replicas=[1, 2, 3], min_insync_replicas=2)
    result = cluster.produce(1, b"a")
    cluster.run()
    partition = cluster.brokers[1].partition()
    partition.record_follower_fetch(2, 1, 0)
    cluster.configs.topic = type(cluster.configs.topic)(min_insync_replicas=4)
    partition.settings = cluster.configs.topic
    partition.effective_min_isr = 4
    partition.record_follower_fetch(3, 1, 0)
    assert errors(result) == [Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND]


REJECTED = {
    "acks that do not exist": ((TOPIC, 0), 2, Error.INVALID_REQUIRED_ACKS),
    "the topic of offsets": (("__consumer_offsets", 0), 1, Error.INVALID_TOPIC_EXCEPTION),
    "the topic of transactions": (("__transaction_state", 0), 1, Error.INVALID_TOPIC_EXCEPTION),
    "the topic of share groups": (("__share_group_state", 0), 1, Error.INVALID_TOPIC_EXCEPTION),
    "a partition that does not exist": ((TOPIC, 9), 1, Error.UNKNOWN_TOPIC_OR_PARTITION),
    "a topic that does not exist": (("trains", 0), 1, Error.UNKNOWN_TOPIC_OR_PARTITION),
}


@pytest.mark.parametrize("name", REJECTED)
def test_appends_rejected_before_validation(tmp_path: Path, name: str) -> None:
    target, acks, error = REJECTED[name]
    result = alone(tmp_path).brokers[1].manager.append([(target, batch_of(b"x"))], acks, 100)
    assert errors(result) == [error]


def test_a_partition_of_another_broker(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1])
    result = cluster.produce(2, b"x")
    assert errors(result) == [Error.NOT_LEADER_OR_FOLLOWER]
    assert cluster.brokers[2].manager.current_leader(TOPIC, 0) == (1, 0)


def test_a_corrupt_batch_is_rejected_and_the_others_are_appended(tmp_path: Path) -> None:
    cluster = alone(tmp_path)
    corrupt = batch_of(b"x")
    corrupt[-1] ^= 1
    entries = [((TOPIC, 0), batch_of(b"x")), ((TOPIC, 1), corrupt), ((TOPIC, 2), batch_of(b"y"))]
    result = cluster.brokers[1].manager.append(entries, 1, 100)
    cluster.run()
    assert errors(result) == [Error.NONE, Error.CORRUPT_MESSAGE, Error.NONE]
    assert "checksum" in (result.result()[1].error_message or "")


def test_bad_records_are_named_and_the_other_partitions_go_on(tmp_path: Path) -> None:
    cluster = alone(tmp_path)
    bad = bytearray(poisoned(MISNUMBERED["offset delta 5"], ManualClock().now_ms()))
    result = cluster.brokers[1].manager.append([((TOPIC, 0), bad), ((TOPIC, 1), batch_of(b"x"))], 1, 100)
    cluster.run()
    assert errors(result) == [Error.INVALID_RECORD, Error.NONE]
    assert result.result()[0].record_errors == ((1, "Offset delta 5 of record 1: deltas count up from 0."),)


def test_leadership_that_changes_while_records_are_checked(tmp_path: Path) -> None:
    """Admission yields between slices; the batch must not be appended if leadership has changed meanwhile."""
    cluster = alone(tmp_path, replicas=[1, 2])
    rows = [Record(timestamp=ManualClock().now_ms(), value=bytes(at % 90)) for at in range(500)]
    batch, results = bytearray(encode_batch(rows)), list[Any]()

    def work() -> None:
        results.append(cluster.brokers[1].manager.append([((TOPIC, 0), batch)], 1, 100))

    task = CooperativeTask(work)
    task.switch()  # the slice is over at once: the task stops at its first yield
    assert not results
    cluster.elect(1)
    while not task.dead:
        task.switch()
    cluster.run()
    assert errors(results[0]) == [Error.NOT_LEADER_OR_FOLLOWER]
    log = cluster.brokers[1].partition().log
    assert log is not None
    assert log.next_offset == 0


def test_an_iteration_that_ends_while_a_large_batch_is_written_leaves_it_to_its_task(tmp_path: Path) -> None:
    cluster = alone(tmp_path)
    manager = cluster.brokers[1].manager
    large, results = batch_of(bytes(300_000)), list[Any]()
    task = CooperativeTask(lambda: results.append(manager.append([((TOPIC, 0), large)], 1, 100)))
    log = cluster.brokers[1].partition().log
    assert log is not None
    while not log.writes_in_pieces:
        task.switch()  # every slice is over at once
    small = manager.append([((TOPIC, 1), batch_of(b"x"))], 1, 100)
    cluster.run()
    assert errors(small) == [Error.NONE]
    assert log.writes_in_pieces
    assert log.log_end_offset == 0
    while not task.dead:
        task.switch()
    assert not results[0].is_done
    cluster.run()
    assert errors(results[0]) == [Error.NONE]
    assert log.log_end_offset == 1


def test_a_repeated_batch_gets_the_answer_of_the_first_time(tmp_path: Path) -> None:
    cluster = alone(tmp_path)

    def send(sequence: int, acks: int = -1) -> tuple[int, int]:
        batch = batch_of(b"a", b"b", producer_id=7, sequence=sequence)
        result = cluster.brokers[1].manager.append([((TOPIC, 0), batch)], acks, 100)
        cluster.run()
        return result.result()[0].error, result.result()[0].base_offset

    assert [send(0), send(2), send(0), send(2, acks=1)] == [(0, 0), (0, 2), (0, 0), (0, 2)]
    assert send(6) == (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert cluster.brokers[1].partition().high_watermark == 4


def test_a_repeated_batch_waits_for_the_replicas_too(tmp_path: Path) -> None:
    cluster = alone(tmp_path, replicas=[1, 2])
    results = []
    for _ in range(2):
        batch = batch_of(b"a", producer_id=7, sequence=0)
        results.append(cluster.brokers[1].manager.append([((TOPIC, 0), batch)], -1, 1_000))
        cluster.run()
    assert [result.is_done for result in results] == [False, False]
    cluster.brokers[1].partition().record_follower_fetch(2, 1, 0)
    assert [errors(result) for result in results] == [[Error.NONE], [Error.NONE]]


def test_the_coordinator_may_write_internal_topics(tmp_path: Path) -> None:
    cluster = alone(tmp_path)
    result = cluster.brokers[1].manager.append(
        [(("__consumer_offsets", 0), batch_of(b"x"))], -1, 100, from_client=False
    )
    assert errors(result) == [Error.UNKNOWN_TOPIC_OR_PARTITION], "there is none here, but it was let through"


def test_a_write_that_fails_fails_every_batch_of_the_iteration(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [])
    disk = FaultyFileSystem()
    broker = cluster.start(1, disk)
    cluster.create([1])
    results = [cluster.produce(1, b"%d" % number, acks=1) for number in range(3)]
    disk.rules.append(FaultRule("pwrite"))
    cluster.run()
    assert [errors(result) for result in results] == [[Error.KAFKA_STORAGE_ERROR]] * 3
    broker.manager.on_log_failure()
    cluster.run()
    assert broker.partition().is_offline
    assert errors(cluster.produce(1, b"x", acks=1)) == [Error.KAFKA_STORAGE_ERROR]


@pytest.mark.spec("D5")
def test_a_rejected_sequence_comes_with_the_start_of_the_log(tmp_path: Path) -> None:
    cluster = alone(tmp_path)
    corrupt = bytearray(batch_of(b"a"))
    corrupt[-1] ^= 0xFF
    assert [
        (Error.of(pending.error), pending.log_start_offset)
        for batch in (batch_of(b"a", producer_id=7, sequence=0), batch_of(b"a", producer_id=7, sequence=5), corrupt)
        for pending in _after_run(cluster, cluster.brokers[1].manager.append([((TOPIC, 0), batch)], 1, 1_000))
    ] == [(Error.NONE, 0), (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, 0), (Error.CORRUPT_MESSAGE, -1)]


def _after_run(cluster: MemoryCluster, result: Any) -> list[Any]:
    cluster.run()
    pending: list[Any] = result.result()
    return pending
