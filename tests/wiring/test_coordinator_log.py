"""The coordinator's log is replication's partition of `__consumer_offsets`."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.api_request import as_future
from signalbox.common.ids import TopicPartition
from signalbox.common.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.storage.producers.transaction_verification import ALREADY_ONGOING, VerificationGuard
from signalbox.testing.cluster import Cluster
from signalbox.wiring.coordinator_log import CoordinatorLeadership, ReplicatedCoordinatorLog
from tests.broker.handlers.running_broker import RunningBroker, batch


class Coordinator:
    def __init__(self) -> None:
        self.events: list[tuple[str, int, int | None]] = []

    def on_elected(self, partition: int, leader_epoch: int) -> None:
        self.events.append(("elected", partition, leader_epoch))

    def on_resigned(self, partition: int, leader_epoch: int | None) -> None:
        self.events.append(("resigned", partition, leader_epoch))


def test_only_the_topic_of_a_coordinator_moves_its_partitions() -> None:
    leadership, coordinator = CoordinatorLeadership(OFFSETS_TOPIC), Coordinator()
    leadership.on_elected(TopicPartition(OFFSETS_TOPIC, 1), 5)  # before the coordinator exists
    leadership.coordinator = coordinator
    leadership.on_elected(TopicPartition(OFFSETS_TOPIC, 2), 5)
    leadership.on_resigned(TopicPartition(OFFSETS_TOPIC, 2), None)
    leadership.on_elected(TopicPartition("other", 3), 5)
    leadership.on_resigned(TopicPartition("other", 3), 6)
    assert coordinator.events == [("elected", 2, 5), ("resigned", 2, None)]


@pytest.mark.parametrize("topic", [OFFSETS_TOPIC, TRANSACTIONS_TOPIC])
def test_appends_are_read_back_and_others_are_rejected(topic: str) -> None:
    with Cluster(brokers=1) as cluster:
        running_broker = RunningBroker(cluster)
        running_broker.create_topic(topic)
        log = ReplicatedCoordinatorLog(running_broker.components.data.replicas, topic, 1000)

        async def scenario() -> Any:
            before = log.end_offset(0)
            await as_future(log.append(0, -1, batch(b"a", b"b")))
            assert (log.start_offset(0), log.end_offset(0)) == (0, before + 2)
            assert len(log.read(0, before, 1 << 20)) > 61
            assert log.read(0, before + 2, 1 << 20) == b""
            with pytest.raises(KafkaError) as rejected:
                await as_future(log.append(0, 99, batch(b"a")))
            assert rejected.value.error in (Error.UNKNOWN_LEADER_EPOCH, Error.NOT_LEADER_OR_FOLLOWER)
            with pytest.raises(KafkaError) as rejected:
                log.end_offset(7)
            assert rejected.value.error is Error.NOT_LEADER_OR_FOLLOWER

        cluster.run(scenario())


def test_a_batch_of_a_transaction_needs_the_guard_of_its_verification() -> None:
    with Cluster(brokers=1) as cluster:
        running_broker = RunningBroker(cluster)
        running_broker.create_topic(OFFSETS_TOPIC)
        log = ReplicatedCoordinatorLog(running_broker.components.data.replicas, OFFSETS_TOPIC, 1000)

        def offsets(producer_id: int) -> bytearray:
            rows = [Record(key=b"k", value=b"v", timestamp=1)]
            return bytearray(encode_batch(rows, producer_id=producer_id, producer_epoch=3, transactional=True))

        async def scenario() -> Any:
            guard = log.start_verification(0, (7, 3), raises_epochs=False)
            await as_future(log.append(0, -1, offsets(7), guard))
            assert log.start_verification(0, (7, 3), raises_epochs=False) is ALREADY_ONGOING
            for other in (None, VerificationGuard()):
                with pytest.raises(KafkaError):
                    await as_future(log.append(0, -1, offsets(8), other))

            leader = running_broker.components.data.replicas.partition(OFFSETS_TOPIC, 0)
            assert leader is not None
            assert leader.log is not None
            log.abandon_verification(0, 9, log.start_verification(0, (9, 3), raises_epochs=False))
            log.abandon_verification(7, 9, guard)
            assert len(leader.log.body.verifications) == 0

        cluster.run(scenario())
