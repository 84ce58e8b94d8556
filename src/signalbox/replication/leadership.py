"""LeaderAndIsr and StopReplica: the controller assigns this broker's roles and stops or deletes its replicas.

LeaderAndIsr (4), per partition, in this order: log directory offline -> KAFKA_STORAGE_ERROR; another topic id than
the log's -> INCONSISTENT_TOPIC_ID; a newer leader epoch is applied (UNKNOWN_TOPIC_OR_PARTITION if this broker is not
a replica); an older or the same one -> STALE_CONTROLLER_EPOCH, which the controller only logs. Leaders first, then
followers. For a follower whose leader is not alive the log is created and the state is kept. Versions 0 to 7; the
response is grouped by topic id from version 5.

StopReplica (5): stops fetching, and deletes the log if the request says so. Leader epoch -2 deletes a topic whatever
the local epoch is, -1 (before version 3) is not checked, an older one is FENCED_LEADER_EPOCH. Unknown partitions are
no error. Versions 0 to 4.

For a partition without a leader, the response to LeaderAndIsr also has the end of this broker's log
(`protocol/own_tags.py`): when all members of an ISR restart after an unclean shutdown, the controller compares their
logs (decision 0031).

Both: a request with a controller epoch below the highest one seen is rejected with STALE_CONTROLLER_EPOCH.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import ZERO_UUID, TopicPartition, uuid_text
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.replication.leader_and_isr import (
    Instruction,
    instructions_of,
    leader_and_isr_response,
    reject_leader_and_isr,
)
from signalbox.replication.partition import NO_LEADER, Partition

_log = logging.getLogger(__name__)

_PER_PARTITION_STOP_FROM_VERSION = 3
NO_LEADER_EPOCH = -1


class Stop(NamedTuple):
    """One partition of a StopReplica."""

    topic_partition: TopicPartition
    leader_epoch: int
    delete: bool


class Replicas(Protocol):
    """Port: executes the instructions (`RoleChanges`)."""

    def host(self, topic_partition: TopicPartition) -> Partition: ...

    def hosted(self, topic_partition: TopicPartition) -> Partition | None: ...

    def lead(self, partition: Partition, instruction: Instruction) -> None: ...

    def follow(self, partition: Partition, instruction: Instruction) -> None: ...

    def log_end(self, topic_partition: TopicPartition) -> tuple[int, int] | None:
        """(last leader epoch, end offset), (-1, -1) without a log, None if its directory is offline."""
        ...

    def assign_topic_id(self, partition: Partition, topic_id: bytes) -> None: ...

    def stop(self, topic_partition: TopicPartition, delete: bool) -> None: ...

    def done(self) -> None: ...


class Leadership:
    """Checks the request for each partition; `replicas` executes it."""

    def __init__(self, broker_id: int, replicas: Replicas) -> None:
        self.controller_epoch = 0
        self._broker_id = broker_id
        self._replicas = replicas
        self._closed = False

    def become_leader_or_follower(self, request: LeaderAndIsrRequest, version: int) -> LeaderAndIsrResponse:
        """Apply a LeaderAndIsr. Yields between two partitions: one request at a time."""
        if request.controller_epoch < self.controller_epoch:
            return reject_leader_and_isr(request, version, Error.STALE_CONTROLLER_EPOCH)
        self.controller_epoch = request.controller_epoch
        instructions = list(instructions_of(request))
        errors: dict[TopicPartition, Error] = {}
        for instruction in sorted(instructions, key=lambda instruction: instruction.state.leader != self._broker_id):
            yield_if_due()
            errors[instruction.topic_partition] = self._apply(instruction)
        self._replicas.done()
        leaderless = (
            instruction.topic_partition for instruction in instructions if instruction.state.leader == NO_LEADER
        )
        ends = {topic_partition: self._replicas.log_end(topic_partition) for topic_partition in leaderless}
        return leader_and_isr_response(instructions, errors, version, ends)

    def close(self) -> None:
        """The broker stops: a request in progress changes no more partitions."""
        self._closed = True

    def _apply(self, instruction: Instruction) -> Error:
        if self._closed:
            return Error.KAFKA_STORAGE_ERROR
        partition = self._replicas.host(instruction.topic_partition)
        error = self._check(partition, instruction)
        if error is not None:
            return error
        apply_role = self._replicas.lead if instruction.state.leader == self._broker_id else self._replicas.follow
        try:
            apply_role(partition, instruction)
        except KafkaError as failure:
            _log.error("LeaderAndIsr not applied (partition=%s): %s", instruction.topic_partition, failure)
            return failure.error
        return Error.NONE

    def _check(self, partition: Partition, instruction: Instruction) -> Error | None:
        """None: execute the instruction. NONE: nothing more to do."""
        state = instruction.state
        if partition.is_offline:
            return Error.KAFKA_STORAGE_ERROR
        known_id = partition.topic_id
        if instruction.topic_id != ZERO_UUID and known_id not in (ZERO_UUID, instruction.topic_id):
            _log.error(
                "Topic id in memory %s does not match the topic id %s that the controller sent (partition=%s, leader"
                " epoch=%d): the replica does not become leader or follower. Its folder belongs to another topic of"
                " this name; move it out of the log directory and restart the broker to follow the new one",
                uuid_text(known_id),
                uuid_text(instruction.topic_id),
                instruction.topic_partition,
                state.leader_epoch,
            )
            return Error.INCONSISTENT_TOPIC_ID
        if state.leader_epoch > partition.leader_epoch:
            return None if self._broker_id in state.replicas else Error.UNKNOWN_TOPIC_OR_PARTITION
        if state.leader_epoch == partition.leader_epoch and known_id == ZERO_UUID and instruction.topic_id != ZERO_UUID:
            self._replicas.assign_topic_id(partition, instruction.topic_id)
            return Error.NONE
        # Every new controller first sends the current epoch again: not worth a log message at INFO.
        level = logging.INFO if state.leader_epoch < partition.leader_epoch else logging.DEBUG
        _log.log(level, "%s: ignoring leader epoch %d", partition, state.leader_epoch)
        return Error.STALE_CONTROLLER_EPOCH

    def stop_replica(self, request: StopReplicaRequest, version: int) -> StopReplicaResponse:
        """Apply a StopReplica. Yields between two partitions: one request at a time."""
        if request.controller_epoch < self.controller_epoch:
            return StopReplicaResponse(error_code=Error.STALE_CONTROLLER_EPOCH)
        self.controller_epoch = request.controller_epoch
        response = StopReplicaResponse()
        for stop in _stops(request, version):
            yield_if_due()
            topic, index = stop.topic_partition
            error = self._stop(stop)
            response.partition_errors.append(
                StopReplicaResponse.StopReplicaPartitionError(topic_name=topic, partition_index=index, error_code=error)
            )
        self._replicas.done()
        return response

    def _stop(self, stop: Stop) -> Error:
        if self._closed:
            return Error.KAFKA_STORAGE_ERROR
        partition = self._replicas.hosted(stop.topic_partition)
        if partition is not None:
            if partition.is_offline:
                return Error.KAFKA_STORAGE_ERROR
            if stop.leader_epoch >= 0 and stop.leader_epoch < partition.leader_epoch:
                return Error.FENCED_LEADER_EPOCH
        try:
            self._replicas.stop(stop.topic_partition, stop.delete)
        except KafkaError as error:
            _log.error("StopReplica not applied (partition=%s): %s", stop.topic_partition, error)
            return error.error
        return Error.NONE


def _stops(request: StopReplicaRequest, version: int) -> Iterator[Stop]:
    if version >= _PER_PARTITION_STOP_FROM_VERSION:
        for topic in request.topic_states:
            for state in topic.partition_states:
                tp = TopicPartition(topic.topic_name, state.partition_index)
                yield Stop(tp, state.leader_epoch, state.delete_partition)
        return
    delete = request.delete_partitions
    for entry in request.ungrouped_partitions:
        yield Stop(TopicPartition(entry.topic_name, entry.partition_index), NO_LEADER_EPOCH, delete)
    for old_topic in request.topics:
        for index in old_topic.partition_indexes:
            yield Stop(TopicPartition(old_topic.name, index), NO_LEADER_EPOCH, delete)
