"""AlterPartition requests: one in flight, changes collected, retries, and obsolete changes dropped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.replication.isr.isr import RETRY_MS, IsrChanges
from signalbox.replication.isr.isr_decisions import propose_shrink
from tests.replication.memory_cluster import MemoryCluster

pytestmark = pytest.mark.spec("D3")

OnResponse = Callable[[AlterPartitionResponse | Error], None]


class Sender:
    """Keeps requests until the test responds to them."""

    def __init__(self) -> None:
        self.sent: list[tuple[AlterPartitionRequest, OnResponse]] = []

    def send(self, request: AlterPartitionRequest, on_response: OnResponse) -> None:
        self.sent.append((request, on_response))


class Bench:
    """Three partitions led by broker 1. ISR changes go to `sender`."""

    def __init__(self, folder: Path) -> None:
        self.cluster = MemoryCluster(folder, [1])
        self.cluster.view.alive.update({2, 3})
        self.cluster.create([1, 2, 3], partitions=3)
        self.sender = Sender()
        self.broker_epoch = 5
        broker = self.cluster.brokers[1]
        self.changes = IsrChanges(1, lambda: self.broker_epoch, self.sender, broker.manager.scheduler.deadlines)
        self.partitions = [broker.partition(index) for index in range(3)]
        for partition in self.partitions:
            partition.record_follower_fetch(2, 0, 0)

    def shrink(self, *indexes: int) -> None:
        """Proposes an ISR without broker 3 for these partitions."""
        for index in indexes:
            partition = self.partitions[index]
            self.cluster.produce(1, b"x", acks=1, index=index)
            self.cluster.run()
            partition.record_follower_fetch(2, partition.local_log().log_end_offset, 0)
            self.changes.submit(partition, propose_shrink(partition, self.cluster.clock.now_ms() + 40_000, 30_000))
        self.changes.dispatch()

    def response(self, error: Error = Error.NONE, skip: int | None = None) -> None:
        request, on_response = self.sender.sent[-1]
        topics = []
        for topic in request.topics:
            entries = [
                AlterPartitionResponse.PartitionData(
                    partition_index=request_partition.partition_index,
                    error_code=error,
                    leader_epoch=request_partition.leader_epoch,
                    isr=[state.broker_id for state in request_partition.new_isr_with_epochs],
                    partition_epoch=request_partition.partition_epoch + 1,
                )
                for request_partition in topic.partitions
                if request_partition.partition_index != skip
            ]
            topics.append(AlterPartitionResponse.TopicData(topic_id=topic.topic_id, partitions=entries))
        on_response(AlterPartitionResponse(topics=topics))

    def requested(self) -> list[list[int]]:
        return [
            [p.partition_index for topic in request.topics for p in topic.partitions] for request, _ in self.sender.sent
        ]


def test_one_request_in_flight_the_rest_is_collected(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.shrink(0)
    bench.shrink(1)
    bench.shrink(2)
    assert bench.requested() == [[0]]
    bench.response()
    assert bench.requested() == [[0], [1, 2]]
    bench.response()
    assert [partition.isr for partition in bench.partitions] == [(1, 2)] * 3
    assert len(bench.sender.sent) == 2


def test_the_request_names_epochs(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.partitions[0].followers[2].broker_epoch = 8
    bench.shrink(0)
    request = bench.sender.sent[0][0]
    [request_partition] = request.topics[0].partitions
    assert (request.broker_id, request.broker_epoch) == (1, 5)
    assert [(state.broker_id, state.broker_epoch) for state in request_partition.new_isr_with_epochs] == [
        (1, 5),
        (2, 8),
    ]
    assert (request_partition.leader_epoch, request_partition.partition_epoch) == (0, 0)


def test_a_failed_request_is_repeated_with_the_broker_epoch_of_then(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.shrink(0)
    bench.sender.sent[0][1](AlterPartitionResponse(error_code=Error.STALE_BROKER_EPOCH))
    assert len(bench.sender.sent) == 1
    bench.broker_epoch = 6
    bench.cluster.advance(RETRY_MS)
    assert [request.broker_epoch for request, _ in bench.sender.sent] == [5, 6]
    bench.sender.sent[1][1](Error.REQUEST_TIMED_OUT)
    bench.cluster.advance(RETRY_MS)
    bench.response()
    assert bench.partitions[0].isr == (1, 2)


def test_partitions_missing_in_the_response_are_retried(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.shrink(0, 1)
    bench.response(skip=1)
    bench.cluster.advance(RETRY_MS)
    assert bench.requested() == [[0, 1], [1]]


def test_a_proposal_that_was_overtaken_is_not_repeated(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.shrink(0)
    bench.sender.sent[0][1](Error.NOT_CONTROLLER)
    bench.cluster.elect(1, isr=[1, 2, 3])
    bench.cluster.advance(RETRY_MS)
    assert len(bench.sender.sent) == 1


def test_nothing_is_sent_after_the_end(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.shrink(0)
    bench.changes.close()
    bench.sender.sent[0][1](Error.NOT_CONTROLLER)
    bench.shrink(1)
    bench.cluster.advance(RETRY_MS)
    assert len(bench.sender.sent) == 1


def test_a_failed_alter_partition_is_retried_and_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "signalbox.replication.isr.isr")
    bench = Bench(tmp_path)
    bench.shrink(0)
    for _ in range(20):
        bench.sender.sent[-1][1](AlterPartitionResponse(error_code=Error.KAFKA_STORAGE_ERROR))
        bench.cluster.advance(RETRY_MS)
    bench.response()
    assert bench.requested() == [[0]] * 21
    assert bench.partitions[0].isr == (1, 2)
    log_messages = [each.message for each in caplog.records]
    assert log_messages == [
        "AlterPartition returned KAFKA_STORAGE_ERROR and is retried",
        "AlterPartition is answered again",
        "ISR updated to [1, 2] for 1 partitions: flights-0",
    ]
