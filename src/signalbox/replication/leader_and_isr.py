"""The partitions of a LeaderAndIsr (4), and its response: a list to version 4, by topic id from version 5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse

_GROUPED_FROM_VERSION = 5
NO_LOG_ENDS: Mapping[TopicPartition, tuple[int, int] | None] = {}

PartitionState = LeaderAndIsrRequest.LeaderAndIsrPartitionState
PartitionError = LeaderAndIsrResponse.LeaderAndIsrPartitionError


class Instruction(NamedTuple):
    """One partition of a LeaderAndIsr."""

    topic_partition: TopicPartition
    topic_id: bytes
    state: PartitionState


def reject_leader_and_isr(request: LeaderAndIsrRequest, version: int, error: Error) -> LeaderAndIsrResponse:
    """The response to a rejected LeaderAndIsr, with the error also for every partition."""
    instructions = list(instructions_of(request))
    response = leader_and_isr_response(
        instructions, {instruction.topic_partition: error for instruction in instructions}, version
    )
    response.error_code = error
    return response


def instructions_of(request: LeaderAndIsrRequest) -> Iterator[Instruction]:
    for state in request.ungrouped_partition_states:
        yield Instruction(TopicPartition(state.topic_name, state.partition_index), ZERO_UUID, state)
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield Instruction(TopicPartition(topic.topic_name, state.partition_index), topic.topic_id, state)


def leader_and_isr_response(
    instructions: list[Instruction],
    errors: dict[TopicPartition, Error],
    version: int,
    log_ends: Mapping[TopicPartition, tuple[int, int] | None] = NO_LOG_ENDS,
) -> LeaderAndIsrResponse:
    if version < _GROUPED_FROM_VERSION:
        partition_errors = [
            PartitionError(topic_name=tp.topic, partition_index=tp.partition, error_code=errors[tp])
            for tp, _, _ in instructions
        ]
        return LeaderAndIsrResponse(partition_errors=partition_errors)
    topics: dict[bytes, list[PartitionError]] = {}
    for topic_partition, topic_id, _ in instructions:
        entry = PartitionError(partition_index=topic_partition.partition, error_code=errors[topic_partition])
        if (log_end := log_ends.get(topic_partition)) is not None:
            own_tags.put_log_end(entry, *log_end)
        topics.setdefault(topic_id, []).append(entry)
    return LeaderAndIsrResponse(
        topics=[
            LeaderAndIsrResponse.LeaderAndIsrTopicError(topic_id=topic_id, partition_errors=entries)
            for topic_id, entries in topics.items()
        ]
    )
