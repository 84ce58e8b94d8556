"""ControlledShutdown as a decision: move leadership away from a broker that is about to stop.

For a partition that it leads, another in-sync replica is elected; as a follower it gets StopReplica and leaves the ISR.
The response names the partitions for which no other replica could become the leader.
"""

from __future__ import annotations

from dataclasses import replace

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Effect, Inputs, LeadersAnnounced, ReplicasStopped
from signalbox.controller.partitions.election import Strategy, propose
from signalbox.controller.partitions.partition_control import elected, next_state
from signalbox.controller.records import BrokerShutsDown, PartitionStateChanged, Record
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)


def controlled_shutdown(context: ControllerContext, inputs: Inputs, request: ControlledShutdownRequest) -> Decision:
    """Elections and StopReplica for every partition of the broker that has other replicas. Yields."""
    broker = context.brokers.get(request.broker_id)
    if broker is None:
        known_epoch = request.broker_epoch >= 0
        error = Error.UNKNOWN_SERVER_ERROR if known_epoch else Error.BROKER_NOT_AVAILABLE
        return Decision(response=ControlledShutdownResponse(error_code=error))
    if 0 <= request.broker_epoch < broker.broker_epoch:
        return Decision(response=ControlledShutdownResponse(error_code=Error.STALE_BROKER_EPOCH))
    going = replace(context, shutting_down=context.shutting_down | {request.broker_id})
    changed: list[PartitionStateChanged] = []
    stopped: list[TopicPartition] = []
    remaining: list[TopicPartition] = []
    for partition in context.partitions_on(request.broker_id):
        state = context.state(partition)
        if state is None or len(context.replicas(partition)) < 2:
            continue
        if state.leader != request.broker_id:
            stopped.append(partition)
            changed += _leave_isr(going, partition, state, request.broker_id)
            continue
        proposal = propose(going, partition, Strategy.CONTROLLED_SHUTDOWN)
        if proposal is None:
            remaining.append(partition)
        else:
            changed.append(PartitionStateChanged(partition, elected(going, state, proposal)))
    records: tuple[Record, ...] = (BrokerShutsDown(request.broker_id), *changed)
    effects: list[Effect] = [LeadersAnnounced(tuple(each.partition for each in changed))]
    if stopped:
        effects.append(ReplicasStopped(request.broker_id, tuple(stopped), delete=False))
    response = ControlledShutdownResponse(
        remaining_partitions=[
            ControlledShutdownResponse.RemainingPartition(
                topic_name=partition.topic, partition_index=partition.partition
            )
            for partition in remaining
        ]
    )
    return Decision(records=records, response=response, effects=tuple(effects))


def _leave_isr(
    context: ControllerContext, partition: TopicPartition, state: PartitionState, broker_id: int
) -> list[PartitionStateChanged]:
    isr = tuple(member for member in state.isr if member != broker_id)
    if isr == state.isr or not isr or state.leader < 0:
        return []
    return [PartitionStateChanged(partition, next_state(context, state, leader=state.leader, isr=isr))]
