"""AlterPartition as a decision: a leader changes its ISR (KIP-497, KIP-841, KIP-903).

Checks in Kafka's order. Beyond Kafka's ZooKeeper controller, the epochs of new ISR members (version 3) are checked
as the KRaft controller does: a member that has restarted since the leader saw it is not let in.
Only UpdateMetadata follows a success: the leader epoch stays. A reassignment that waited for this ISR ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs, MetadataAnnounced
from signalbox.controller.reassignment import finish_moves
from signalbox.controller.records import PartitionStateChanged
from signalbox.metadata.partition_state import LeaderRecoveryState, PartitionState
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

_Wanted = AlterPartitionRequest.PartitionData
_Result = AlterPartitionResponse.PartitionData


@dataclass(frozen=True, slots=True)
class _Caller:
    broker_id: int
    by_topic_id: bool


def alter_partition(context: ControllerContext, inputs: Inputs, request: AlterPartitionRequest) -> Decision:
    """New states for what is acceptable, and the answer for all."""
    broker = context.brokers.get(request.broker_id)
    if broker is None or broker.broker_epoch != request.broker_epoch:
        return Decision(response=AlterPartitionResponse(error_code=Error.STALE_BROKER_EPOCH))
    changed: list[PartitionStateChanged] = []
    topics = []
    for wanted in request.topics:
        by_id = wanted.topic_id != ZERO_UUID
        name = context.topic_names.get(wanted.topic_id) if by_id else wanted.topic_name
        caller = _Caller(request.broker_id, by_id)
        results = []
        for partition in wanted.partitions:
            try:
                state, is_new = _decide(context, caller, name, partition)
            except KafkaError as refusal:
                results.append(_Result(partition_index=partition.partition_index, error_code=refusal.error))
                continue
            assert name is not None
            if is_new:
                changed.append(PartitionStateChanged(TopicPartition(name, partition.partition_index), state))
            results.append(_told(partition.partition_index, state))
        topics.append(
            AlterPartitionResponse.TopicData(topic_name=wanted.topic_name, topic_id=wanted.topic_id, partitions=results)
        )
    response = AlterPartitionResponse(topics=topics)
    if not changed:
        return Decision(response=response)
    partitions = tuple(each.partition for each in changed)
    arrived = finish_moves(context, changed, partitions)
    return Decision(
        records=(*changed, *arrived.records),
        response=response,
        effects=(MetadataAnnounced(partitions), *arrived.effects),
    )


def _decide(
    context: ControllerContext, caller: _Caller, topic: str | None, wanted: _Wanted
) -> tuple[PartitionState, bool]:
    """The state to tell, and whether it is a change."""
    unknown = Error.UNKNOWN_TOPIC_ID if caller.by_topic_id else Error.UNKNOWN_TOPIC_OR_PARTITION
    if _may_be_left_alone(context, topic, wanted.partition_index):
        # The leader takes its proposal back and comes with it again: by then the entry may have been mended.
        raise KafkaError(Error.OPERATION_NOT_ATTEMPTED, "What the store holds of the partition cannot be read.")
    if topic is None or context.usable_topic(topic) is None:
        raise KafkaError(unknown)
    partition = TopicPartition(topic, wanted.partition_index)
    state = context.state(partition)
    if state is None:
        raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION)
    if wanted.leader_epoch > state.leader_epoch or wanted.partition_epoch > state.partition_epoch:
        raise KafkaError(Error.NOT_CONTROLLER, "The leader knows of a newer state than this controller.")
    if wanted.leader_epoch < state.leader_epoch:
        raise KafkaError(Error.FENCED_LEADER_EPOCH)
    if caller.broker_id != state.leader:
        raise KafkaError(Error.INVALID_REQUEST, f"Broker {caller.broker_id} does not lead {partition}.")
    members = [(each.broker_id, each.broker_epoch) for each in wanted.new_isr_with_epochs]
    isr = tuple(broker_id for broker_id, _ in members) or tuple(wanted.new_isr)
    recovery = LeaderRecoveryState(wanted.leader_recovery_state)
    if (isr, recovery) == (state.isr, state.recovery):
        return state, False
    if wanted.partition_epoch < state.partition_epoch:
        raise KafkaError(Error.INVALID_UPDATE_VERSION)
    _refuse_isr(context, caller, partition, isr, dict(members))
    _refuse_recovery(state, isr, recovery)
    return _next(context, state, isr, recovery), True


def _may_be_left_alone(context: ControllerContext, topic: str | None, partition: int) -> bool:
    """An id that nobody knows may be that of a topic whose assignment cannot be read: it stands nowhere else."""
    if topic is None:
        return any(damage.is_whole for damage in context.damaged.values())
    return context.left_alone(TopicPartition(topic, partition))


def _refuse_isr(
    context: ControllerContext,
    caller: _Caller,
    partition: TopicPartition,
    isr: tuple[int, ...],
    epochs: dict[int, int],
) -> None:
    replicas = context.replicas(partition)
    if caller.broker_id not in isr or len(set(isr)) != len(isr) or not set(isr) <= set(replicas):
        raise KafkaError(
            Error.INVALID_REQUEST, f"The ISR {isr} must hold the leader and replicas of {replicas}, each once."
        )
    for member in isr:
        broker = context.brokers.get(member)
        epoch = epochs.get(member, -1)
        restarted = broker is not None and epoch not in (-1, broker.broker_epoch)
        if broker is None or member in context.shutting_down or restarted:
            # Before version 2 the error for this was another one.
            error = Error.INELIGIBLE_REPLICA if caller.by_topic_id else Error.OPERATION_NOT_ATTEMPTED
            raise KafkaError(error, f"Broker {member} is not eligible: it is gone, going or restarted.")


def _refuse_recovery(state: PartitionState, isr: tuple[int, ...], recovery: LeaderRecoveryState) -> None:
    recovering = LeaderRecoveryState.RECOVERING
    if recovery is recovering and len(isr) > 1:
        raise KafkaError(Error.INVALID_REQUEST, "A recovering leader is alone in its ISR.")
    if recovery is recovering and state.recovery is not recovering:
        raise KafkaError(Error.INVALID_REQUEST, "A recovered leader cannot be recovering again.")


def _next(
    context: ControllerContext,
    state: PartitionState,
    isr: tuple[int, ...],
    recovery: LeaderRecoveryState,
) -> PartitionState:
    return replace(
        state,
        isr=isr,
        recovery=recovery,
        controller_epoch=context.controller_epoch,
        partition_epoch=state.partition_epoch + 1,
    )


def _told(partition: int, state: PartitionState) -> _Result:
    return _Result(
        partition_index=partition,
        error_code=Error.NONE,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        isr=list(state.isr),
        leader_recovery_state=state.recovery,
        partition_epoch=state.partition_epoch,
    )
