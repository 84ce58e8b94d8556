"""The partitions of a LeaderAndIsr and its response, in both layouts."""

from __future__ import annotations

import pytest

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.replication.leader_and_isr import (
    PartitionState,
    instructions_of,
    leader_and_isr_response,
    reject_leader_and_isr,
)

ID = b"i" * 16
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def states() -> list[PartitionState]:
    return [PartitionState(topic_name="t", partition_index=index) for index in (0, 1)]


def ungrouped() -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(ungrouped_partition_states=states())


def grouped() -> LeaderAndIsrRequest:
    topic = LeaderAndIsrRequest.LeaderAndIsrTopicState(topic_name="t", topic_id=ID, partition_states=states())
    return LeaderAndIsrRequest(topic_states=[topic])


@pytest.mark.parametrize(("request_", "topic_id"), [(ungrouped(), ZERO_UUID), (grouped(), ID)])
def test_both_layouts_name_the_same_partitions(request_: LeaderAndIsrRequest, topic_id: bytes) -> None:
    instructions = list(instructions_of(request_))
    assert [(each.topic_partition, each.topic_id) for each in instructions] == [(T0, topic_id), (T1, topic_id)]


def test_the_response_has_the_layout_of_its_version() -> None:
    errors = {T0: Error.NONE, T1: Error.KAFKA_STORAGE_ERROR}
    listed = leader_and_isr_response(list(instructions_of(ungrouped())), errors, 4)
    assert [(each.topic_name, each.error_code) for each in listed.partition_errors] == [("t", 0), ("t", 56)]
    assert listed.topics == []
    by_id = leader_and_isr_response(list(instructions_of(grouped())), errors, 5, {T0: (3, 17), T1: None})
    ((topic,), listed_errors) = by_id.topics, by_id.partition_errors
    assert (topic.topic_id, listed_errors) == (ID, [])
    assert [(each.partition_index, each.error_code) for each in topic.partition_errors] == [(0, 0), (1, 56)]
    assert [own_tags.log_end(each) for each in topic.partition_errors] == [(3, 17), None]


@pytest.mark.parametrize("version", [4, 7])
def test_a_rejected_request_has_its_error_everywhere(version: int) -> None:
    request = ungrouped() if version == 4 else grouped()
    response = reject_leader_and_isr(request, version, Error.STALE_CONTROLLER_EPOCH)
    entries = response.partition_errors or response.topics[0].partition_errors
    assert [response.error_code, *(each.error_code for each in entries)] == [11, 11, 11]
