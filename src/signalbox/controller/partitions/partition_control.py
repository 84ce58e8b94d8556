"""Partitions get, keep and lose their leaders: states as records, for any set of partitions.

Two deliberate differences from Kafka, both to keep data: if no replica can lead, the ISR stays as it is (each member
has every acknowledged record, so any of them may lead when it returns); and the last member is never removed from an
ISR.

A third: a member of an ISR that returns after an unclean shutdown, or without a log directory that it had, is
`unverified` (decision 0031). It is not a candidate; it leaves the ISR as soon as a leader is known to be alive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.partitions.election import Proposal, Strategy, propose
from signalbox.controller.records import PartitionCreated, PartitionStateChanged
from signalbox.metadata.entries.partition_state import NO_LEADER, PartitionState


def first_state(
    context: ControllerContext, partition: TopicPartition, replicas: Iterable[int]
) -> PartitionState | None:
    """A new partition's state: every live replica is in sync, the first of them leads. None if no replica is alive.
    A broker that is shutting down is in sync only if no other replica is alive: acks=all would wait for it."""
    alive = tuple(broker for broker in replicas if context.is_replica_reachable(broker, partition))
    if not alive:
        return None
    isr = tuple(broker for broker in alive if broker not in context.shutting_down) or alive  # as in Kafka
    return PartitionState(
        leader=isr[0], leader_epoch=0, isr=isr, controller_epoch=context.controller_epoch, partition_epoch=0
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
        unverified=tuple(member for member in state.unverified if member in isr),
        controller_epoch=context.controller_epoch,
        partition_epoch=state.partition_epoch + 1,
    )


def elected(context: ControllerContext, state: PartitionState, proposal: Proposal) -> PartitionState:
    """The state that follows from a proposal."""
    after = next_state(context, state, leader=proposal.leader, isr=proposal.isr)
    unclean_epoch = after.leader_epoch if proposal.is_unclean else after.unclean_epoch
    unverified = tuple(member for member in after.unverified if member != proposal.leader)
    return replace(after, recovery=proposal.recovery, unclean_epoch=unclean_epoch, unverified=unverified)


def has_live_leader(context: ControllerContext, partition: TopicPartition) -> bool:
    """Whether the partition has a leader that is alive and can read its log."""
    state = context.state(partition)
    return state is not None and context.is_replica_reachable(state.leader, partition)


def is_offline(context: ControllerContext, partition: TopicPartition) -> bool:
    """Whether the partition waits for a leader: it is new, or its leader is dead."""
    return not has_live_leader(context, partition)


def bring_online(
    context: ControllerContext, partitions: Iterable[TopicPartition], unclean: Callable[[str], bool]
) -> tuple[list[PartitionCreated], list[PartitionStateChanged]]:
    """Leaders for those of `partitions` that have none and can get one. `unclean(topic)`: as a last resort, a
    replica that is not in sync may lead. Yields."""
    created: list[PartitionCreated] = []
    changed: list[PartitionStateChanged] = []
    for partition in partitions:
        yield_if_due()
        if context.is_quarantined(partition) or not is_offline(context, partition):
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
    """New states after the loss of the replicas of `partitions` on the brokers `gone`, which `context` already
    includes. Yields."""
    changed = []
    for partition in partitions:
        yield_if_due()
        state = context.state(partition)
        if state is None or state.leader == NO_LEADER:
            continue
        if state.leader in gone or state.leader in state.unverified:
            changed.append(PartitionStateChanged(partition, _without_leader(context, partition, state, unclean)))
            continue
        isr = tuple(member for member in state.isr if member not in gone)
        if isr and isr != state.isr:
            after = next_state(context, state, leader=state.leader, isr=isr)
            changed.append(PartitionStateChanged(partition, after))
    return changed


def restarted_uncleanly(
    context: ControllerContext, brokers: Collection[int], partitions: Iterable[TopicPartition]
) -> list[PartitionStateChanged]:
    """New states of `partitions` after an unclean shutdown of `brokers`, which become unverified members of their ISRs.
    Yields."""
    changed = []
    for partition in partitions if brokers else ():
        yield_if_due()
        state = context.state(partition)
        if state is None or context.is_quarantined(partition):
            continue
        fresh = tuple(member for member in state.isr if member in brokers and member not in state.unverified)
        if fresh:
            after = next_state(context, state, leader=state.leader, isr=state.isr)
            # Without a leader its epoch stays: an election that waits for members under this epoch keeps waiting.
            leader_epoch = state.leader_epoch if state.leader == NO_LEADER else after.leader_epoch
            marked = replace(after, leader_epoch=leader_epoch, unverified=(*state.unverified, *fresh))
            changed.append(PartitionStateChanged(partition, marked))
    return changed


def drop_unverified(
    context: ControllerContext, leader: int, partitions: Iterable[TopicPartition]
) -> list[PartitionStateChanged]:
    """The leader of `partitions` is known to be alive: it has every acknowledged record, and the unverified members of
    its ISR leave it until they have caught up."""
    changed = []
    for partition in partitions:
        state = context.state(partition)
        if state is not None and state.leader == leader and state.unverified:
            after = next_state(context, state, leader=leader, isr=state.verified_isr)
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
