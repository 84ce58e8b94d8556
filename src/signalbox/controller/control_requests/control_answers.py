"""What brokers' responses to control requests mean for the controller.

Top-level errors (a stale epoch) are only logged: the broker knows a newer controller or has restarted, and the store
shows either. Decisions follow from failed directories, completed deletions, the log ends of partitions without a
leader, and the response of a live leader whose ISR has unverified members.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from signalbox.common.ids import TopicPartition
from signalbox.controller.brokers.broker_control import replicas_offline
from signalbox.controller.brokers.broker_restarts import leader_lives, log_ends_reported
from signalbox.controller.context import ControllerContext, LogEnd, ReplicaOfTopic
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.partitions.removed_replicas import replicas_removed
from signalbox.controller.topics.topic_deletion import replicas_deleted
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse

log = logging.getLogger(__name__)

# The leader has the state, or has had it already.
_APPLIED = frozenset({Error.NONE, Error.STALE_CONTROLLER_EPOCH})

Follow = Callable[[ControllerContext, Inputs], Decision]


def follow_ups(context: ControllerContext, broker_id: int, request: Message, response: Message) -> Iterator[Follow]:
    """Decisions that follow from a response; `context` is the present one."""
    error = Error.of(getattr(response, "error_code", 0))
    if error is not Error.NONE:
        log.warning(
            "Control request rejected (broker=%d, request=%s): %s", broker_id, type(request).__name__, error.name
        )
        return
    if isinstance(request, LeaderAndIsrRequest) and isinstance(response, LeaderAndIsrResponse):
        yield from _after_leader_and_isr(context, broker_id, response)
        yield from _after_question(context, broker_id, request.broker_epoch, response)
    if isinstance(request, StopReplicaRequest) and isinstance(response, StopReplicaResponse):
        yield from _after_stop_replica(broker_id, request, response)


def _after_leader_and_isr(
    context: ControllerContext, broker_id: int, response: LeaderAndIsrResponse
) -> Iterator[Follow]:
    failed: list[TopicPartition] = []
    working: list[TopicPartition] = []
    for topic in response.topics:
        name = context.topic_names.get(topic.topic_id)
        if name is None:
            continue
        for each in topic.partition_errors:
            partition = TopicPartition(name, each.partition_index)
            if each.error_code == Error.KAFKA_STORAGE_ERROR:
                failed.append(partition)
            elif each.error_code == Error.NONE:
                working.append(partition)
            else:
                error = Error.of(each.error_code).name
                log.debug(
                    "LeaderAndIsr failed for a partition (broker=%d, partition=%s): %s", broker_id, partition, error
                )
    if failed or context.offline_replicas.get(broker_id):
        yield lambda now, inputs: replicas_offline(now, inputs, broker_id, failed, working)


def _after_question(
    context: ControllerContext, broker_id: int, broker_epoch: int, response: LeaderAndIsrResponse
) -> Iterator[Follow]:
    """Every LeaderAndIsr for a partition without a leader requests its log end; the response has it in a tag."""
    ends: dict[TopicPartition, LogEnd] = {}
    led: list[TopicPartition] = []
    for topic in response.topics:
        name = context.topic_names.get(topic.topic_id)
        if name is None:
            continue
        for each in topic.partition_errors:
            partition = TopicPartition(name, each.partition_index)
            end = own_tags.log_end(each)
            state = context.state(partition)
            if end is not None:
                ends[partition] = LogEnd(*end)
            elif state is not None and state.unverified and state.leader == broker_id and each.error_code in _APPLIED:
                led.append(partition)
    if ends:
        yield lambda now, inputs: log_ends_reported(now, inputs, broker_id, broker_epoch, ends)
    if led:
        yield lambda now, inputs: leader_lives(now, inputs, broker_id, led)


def _after_stop_replica(broker_id: int, request: StopReplicaRequest, response: StopReplicaResponse) -> Iterator[Follow]:
    asked = {
        TopicPartition(topic.topic_name, state.partition_index)
        for topic in request.topic_states
        for state in topic.partition_states
        if state.delete_partition
    }
    failed = set()
    for each in response.partition_errors:
        if each.error_code != Error.NONE:
            partition = TopicPartition(each.topic_name, each.partition_index)
            failed.add(partition)
            log.warning(
                "Replica not deleted by StopReplica (broker=%d, partition=%s): %s",
                broker_id,
                partition,
                Error.of(each.error_code).name,
            )
    by_topic: dict[str, list[ReplicaOfTopic]] = {}
    for topic, number in asked - failed:
        by_topic.setdefault(topic, []).append(ReplicaOfTopic(number, broker_id))
    for name, replicas in by_topic.items():
        yield _deleted(name, replicas)


def _deleted(topic: str, replicas: list[ReplicaOfTopic]) -> Follow:
    return lambda now, inputs: (replicas_deleted if topic in now.deleting else replicas_removed)(now, topic, replicas)
