"""Partitions get, keep and lose their leaders: states as records, for any set of partitions.

Two deliberate differences from Kafka, both towards keeping data: when nobody can lead, the ISR stays as it is (each
member has everything that was acknowledged, so any of them may lead when it returns); and the last member is never
taken out of an ISR.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from signalbox.common.ids import TopicPartition
from signalbox.common.long_work import breathe
from signalbox.controller.context import ControllerContext
from signalbox.controller.election import Proposal, Strategy, propose
from signalbox.controller.records import PartitionCreated, PartitionStateChanged
from signalbox.metadata.partition_state import NO_LEADER, PartitionState


def first_state(
    context: ControllerContext, partition: TopicPartition, replicas: Iterable[int]
) -> PartitionState | None:
    """A new partition's state: every living replica is in sync, the first of them leads. None if none lives."""
    alive = tuple(broker for broker in replicas if context.is_replica_reachable(broker, partition))
    if not alive:
        return None
    leading = [broker for broker in alive if broker not in context.shutting_down] or alive
    return PartitionState(
        leader=leading[0], leader_epoch=0, isr=alive, controller_epoch=context.controller_epoch, partition_epoch=0
    )


def next_state(
    context: ControllerContext, state: PartitionState, *, leader: int, isr: tuple[int, ...]
) -> PartitionState:
    """A state after `state` with the leader epoch raised."""
    return replace(
        state,
        leader=leader,
        leader_epoch=state.leader_epoch + 1,
        isr=isr,
        controller_epoch=context.controller_epoch,
        partition_epoch=state.partition_epoch + 1,
    )


def elected(context: ControllerContext, state: PartitionState, proposal: Proposal) -> PartitionState:
    """The state that a proposal makes."""
    return replace(next_state(context, state, leader=proposal.leader, isr=proposal.isr), recovery=proposal.recovery)


def has_live_leader(context: ControllerContext, partition: TopicPartition) -> bool:
    """Whether the partition has a leader that lives and can read its log."""
    state = context.state(partition)
    return state is not None and context.is_replica_reachable(state.leader, partition)


def is_offline(context: ControllerContext, partition: TopicPartition) -> bool:
    """Whether the partition waits for a leader: new, or its leader is gone."""
    return not has_live_leader(context, partition)


def bring_online(
    context: ControllerContext, partitions: Iterable[TopicPartition], unclean: Callable[[str], bool]
) -> tuple[list[PartitionCreated], list[PartitionStateChanged]]:
    """Leaders for those of `partitions` that have none and can get one. `unclean(topic)`: as a last resort, a
    replica that is not in sync may lead."""
    created: list[PartitionCreated] = []
    changed: list[PartitionStateChanged] = []
    for partition in partitions:
        breathe()
        if context.left_alone(partition) or not is_offline(context, partition):
            continue
        state = context.state(partition)
        if state is None:
            first = first_state(context, partition, context.replicas(partition))
            if first is not None:
                created.append(PartitionCreated(partition, first))
            continue
        strategy = Strategy.UNCLEAN if unclean(partition.topic) else Strategy.OFFLINE
        proposal = propose(context, partition, strategy)
        if proposal is not None:
            changed.append(PartitionStateChanged(partition, elected(context, state, proposal)))
    return created, changed


def take_replicas_offline(
    context: ControllerContext,
    gone: Collection[int],
    partitions: Iterable[TopicPartition],
    unclean: Callable[[str], bool],
) -> list[PartitionStateChanged]:
    """What it means that the replicas of `partitions` on the brokers `gone` are lost. `context` knows it already."""
    changed = []
    for partition in partitions:
        breathe()
        state = context.state(partition)
        if state is None or state.leader == NO_LEADER:
            continue
        if state.leader in gone:
            changed.append(PartitionStateChanged(partition, _without_leader(context, partition, state, unclean)))
            continue
        isr = tuple(member for member in state.isr if member not in gone)
        if isr and isr != state.isr:
            after = next_state(context, state, leader=state.leader, isr=isr)
            changed.append(PartitionStateChanged(partition, after))
    return changed


def _without_leader(
    context: ControllerContext, partition: TopicPartition, state: PartitionState, unclean: Callable[[str], bool]
) -> PartitionState:
    strategy = Strategy.UNCLEAN if unclean(partition.topic) else Strategy.OFFLINE
    proposal = propose(context, partition, strategy)
    if proposal is None:
        return next_state(context, state, leader=NO_LEADER, isr=state.isr)
    return elected(context, state, proposal)
