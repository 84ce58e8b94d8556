"""AlterPartition as a decision: a leader changes its ISR (KIP-497, KIP-841, KIP-903).

Checks in Kafka's order. Beyond Kafka's ZooKeeper controller, the broker epochs of new ISR members (version 3) are
checked as the KRaft controller does: a member that has restarted since the leader saw it is rejected.
Only UpdateMetadata follows a success: the leader epoch stays. A reassignment that waited for this ISR is completed.

Beyond Kafka a replica may remove itself from the ISR (its log is corrupt, `replication/follower/corrupt_logs.py`), by
an ISR without it. The leader epoch is raised, so that no ISR expansion that is under way adds it again; if it was the
leader, another member of the ISR is elected. The last member cannot leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Effect, Inputs, LeadersAnnounced, MetadataAnnounced
from signalbox.controller.partitions.election import propose_among
from signalbox.controller.partitions.partition_control import elected, next_state
from signalbox.controller.partitions.reassignment import finish_moves
from signalbox.controller.records import PartitionStateChanged
from signalbox.metadata.entries.partition_state import LeaderRecoveryState, PartitionState
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

_Wanted = AlterPartitionRequest.PartitionData
_Result = AlterPartitionResponse.PartitionData


@dataclass(frozen=True, slots=True)
class _Caller:
    broker_id: int
    by_topic_id: bool


def alter_partition(context: ControllerContext, inputs: Inputs, request: AlterPartitionRequest) -> Decision:
    """New states for the accepted partitions, and a response with a result for each partition. Yields."""
    broker = context.brokers.get(request.broker_id)
    if broker is None or broker.broker_epoch != request.broker_epoch:
        return Decision(response=AlterPartitionResponse(error_code=Error.STALE_BROKER_EPOCH))
    changed: list[PartitionStateChanged] = []
    new_epochs: list[TopicPartition] = []
    topics = []
    for wanted in request.topics:
        by_id = wanted.topic_id != ZERO_UUID
        name = context.topic_names.get(wanted.topic_id) if by_id else wanted.topic_name
        caller = _Caller(request.broker_id, by_id)
        results = []
        for partition in wanted.partitions:
            try:
                state, is_new = _decide(context, caller, name, partition)
            except KafkaError as rejection:
                results.append(_Result(partition_index=partition.partition_index, error_code=rejection.error))
                continue
            assert name is not None
            if is_new:
                changed.append(PartitionStateChanged(TopicPartition(name, partition.partition_index), state))
                if state.leader_epoch != partition.leader_epoch:
                    new_epochs.append(changed[-1].partition)
            results.append(_result(partition.partition_index, state))
        topics.append(
            AlterPartitionResponse.TopicData(topic_name=wanted.topic_name, topic_id=wanted.topic_id, partitions=results)
        )
    response = AlterPartitionResponse(topics=topics)
    if not changed:
        return Decision(response=response)
    partitions = tuple(each.partition for each in changed)
    arrived = finish_moves(context, changed, partitions)
    announced: list[Effect] = [MetadataAnnounced(tuple(each for each in partitions if each not in new_epochs))]
    if new_epochs:
        announced = [each for each in announced if len(new_epochs) < len(partitions)]
        announced.append(LeadersAnnounced(tuple(new_epochs)))
    return Decision(
        records=(*changed, *arrived.records),
        response=response,
        effects=(*announced, *arrived.effects),
    )


def _decide(
    context: ControllerContext, caller: _Caller, topic: str | None, wanted: _Wanted
) -> tuple[PartitionState, bool]:
    """The state to return, and whether it is a change."""
    unknown = Error.UNKNOWN_TOPIC_ID if caller.by_topic_id else Error.UNKNOWN_TOPIC_OR_PARTITION
    if _may_be_quarantined(context, topic, wanted.partition_index):
        # The leader drops its proposal and retries it later: the entry may have been repaired by then.
        raise KafkaError(
            Error.OPERATION_NOT_ATTEMPTED, "The state of the partition in the metadata store cannot be read."
        )
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
    members = [(each.broker_id, each.broker_epoch) for each in wanted.new_isr_with_epochs]
    isr = tuple(broker_id for broker_id, _ in members) or tuple(wanted.new_isr)
    if isr and caller.broker_id not in isr and caller.broker_id in context.replicas(partition):
        return _without(context, caller, partition, state), True
    if caller.broker_id != state.leader:
        raise KafkaError(Error.INVALID_REQUEST, f"Broker {caller.broker_id} does not lead {partition}.")
    recovery = LeaderRecoveryState(wanted.leader_recovery_state)
    if (isr, recovery) == (state.isr, state.recovery):
        return state, False
    if wanted.partition_epoch < state.partition_epoch:
        raise KafkaError(Error.INVALID_UPDATE_VERSION)
    _reject_isr(context, caller, partition, isr, dict(members))
    _reject_recovery(state, isr, recovery)
    return _next(context, state, isr, recovery), True


def _without(
    context: ControllerContext, caller: _Caller, partition: TopicPartition, state: PartitionState
) -> PartitionState:
    """The state after a replica has removed itself from the ISR. The other members that it names are ignored."""
    isr = tuple(member for member in state.isr if member != caller.broker_id)
    if caller.broker_id != state.leader and state.leader in isr:
        return next_state(context, state, leader=state.leader, isr=isr)
    candidates = [broker for broker in context.replicas(partition) if broker in isr]
    proposal = propose_among(context, partition, state, candidates)
    if caller.broker_id != state.leader or proposal is None:
        raise _ineligible(caller, f"No other in-sync replica of {partition} is online.")
    return elected(context, state, proposal)


def _may_be_quarantined(context: ControllerContext, topic: str | None, partition: int) -> bool:
    """An unknown topic id may belong to a topic whose assignment is corrupt: the id is stored only there."""
    if topic is None:
        return any(corruption.is_whole for corruption in context.corrupt_topics.values())
    return context.is_quarantined(TopicPartition(topic, partition))


def _reject_isr(
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
            raise _ineligible(caller, f"Broker {member} is not eligible: it is offline, shutting down or restarted.")


def _ineligible(caller: _Caller, message: str) -> KafkaError:
    """INELIGIBLE_REPLICA, or OPERATION_NOT_ATTEMPTED before version 2 of the request."""
    return KafkaError(Error.INELIGIBLE_REPLICA if caller.by_topic_id else Error.OPERATION_NOT_ATTEMPTED, message)


def _reject_recovery(state: PartitionState, isr: tuple[int, ...], recovery: LeaderRecoveryState) -> None:
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
        unverified=tuple(member for member in state.unverified if member in isr),
        recovery=recovery,
        controller_epoch=context.controller_epoch,
        partition_epoch=state.partition_epoch + 1,
    )


def _result(partition: int, state: PartitionState) -> _Result:
    return _Result(
        partition_index=partition,
        error_code=Error.NONE,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        isr=list(state.isr),
        leader_recovery_state=state.recovery,
        partition_epoch=state.partition_epoch,
    )
