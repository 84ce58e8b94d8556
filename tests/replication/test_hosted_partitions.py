"""Finding partitions, and the error for each case in which there is none."""

from __future__ import annotations

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.partition import Partition
from signalbox.replication.waiting.purgatory import Purgatory
from tests.common.waiting.manual_time import ManualIterations, ManualTimers
from tests.replication.memory_view import TOPIC, TOPIC_ID, MemoryView, PartitionRow

pytestmark = pytest.mark.spec("D3")

OTHER_ID = bytes(reversed(TOPIC_ID))


def hosting(*indexes: int) -> tuple[HostedPartitions, MemoryView]:
    view = MemoryView({1, 2}, {TopicPartition(TOPIC, 5): PartitionRow(2, [2], [2], leader_epoch=4)})
    hosted = HostedPartitions(view)
    clock = ManualClock()
    purgatory = Purgatory(Deadlines(clock, ManualTimers(clock)), ManualIterations())
    for index in indexes:
        partition = Partition(TopicPartition(TOPIC, index), 1, clock, purgatory)
        hosted.add(partition)
        hosted.set_topic_id(partition, TOPIC_ID)
    return hosted, view


def error_of(hosted: HostedPartitions, topic: str, index: int, topic_id: bytes = ZERO_UUID) -> Error:
    try:
        hosted.find(topic, index, topic_id)
    except KafkaError as error:
        return error.error
    return Error.NONE


@pytest.mark.parametrize(
    ("topic", "index", "topic_id", "error"),
    [
        (TOPIC, 0, ZERO_UUID, Error.NONE),
        (TOPIC, 0, TOPIC_ID, Error.NONE),
        (TOPIC, 0, OTHER_ID, Error.INCONSISTENT_TOPIC_ID),
        (TOPIC, 5, ZERO_UUID, Error.NOT_LEADER_OR_FOLLOWER),
        (TOPIC, 9, ZERO_UUID, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("trains", 0, ZERO_UUID, Error.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_find(topic: str, index: int, topic_id: bytes, error: Error) -> None:
    assert error_of(hosting(0)[0], topic, index, topic_id) is error


def test_an_offline_partition_is_found_to_be_offline() -> None:
    hosted, _ = hosting(0)
    hosted.find(TOPIC, 0).retire(Error.KAFKA_STORAGE_ERROR, offline=True)
    assert error_of(hosted, TOPIC, 0) is Error.KAFKA_STORAGE_ERROR


def test_a_topic_keeps_its_name_until_its_last_partition_goes() -> None:
    hosted, view = hosting(0, 1)
    view.rows.clear()
    assert hosted.topic_name(TOPIC_ID) == TOPIC
    assert hosted.remove(TopicPartition(TOPIC, 0)) is not None
    assert (hosted.topic_name(TOPIC_ID), len(hosted)) == (TOPIC, 1)
    hosted.remove(TopicPartition(TOPIC, 1))
    assert (hosted.topic_name(TOPIC_ID), len(hosted), list(hosted)) == (None, 0, [])
    assert hosted.remove(TopicPartition(TOPIC, 1)) is None


def test_the_current_leader_is_from_the_newest_source() -> None:
    hosted, _ = hosting(0)
    assert hosted.current_leader(TOPIC, 5) == (2, 4)
    assert hosted.current_leader(TOPIC, 0) == (-1, -1)
    partition = hosted.find(TOPIC, 0)
    partition.leader_id, partition.leader_epoch = 2, 7
    assert hosted.current_leader(TOPIC, 0) == (2, 7)


def test_rejections_for_partitions_that_are_not_here_are_bounded_and_handed_over() -> None:
    hosted, _ = hosting()
    first = hosted.rejected_sequences("flights", 0)
    assert hosted.rejected_sequences("flights", 0) is first
    for index in range(1, 64):
        hosted.rejected_sequences("flights", index)
    last = hosted.rejected_sequences("flights", 64)
    assert hosted.rejected_sequences("flights", 0) is not first, "the oldest was evicted"
    clock = ManualClock()
    purgatory = Purgatory(Deadlines(clock, ManualTimers(clock)), ManualIterations())
    partition = Partition(TopicPartition("flights", 64), 1, clock, purgatory)
    hosted.add(partition)
    assert partition.rejected is last
    assert hosted.rejected_sequences("flights", 64) is last
