"""Who leads next: the strategies of Kafka's partition state machine, each a row with its own rule.

A strategy looks at one partition and proposes leader and ISR, or nothing. Every election raises the leader epoch by
one; that is done where the proposal becomes a state (`partition_control.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.metadata.partition_state import LeaderRecoveryState, PartitionState


@dataclass(frozen=True, slots=True)
class Proposal:
    """A partition's next leader and ISR."""

    leader: int
    isr: tuple[int, ...]
    recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED


def _offline(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> Proposal | None:
    """The first living replica in assignment order that is in sync; the ISR shrinks to its living members."""
    alive = tuple(broker for broker in state.isr if context.is_replica_online(broker, partition))
    for broker in context.replicas(partition):
        if broker in alive:
            return Proposal(broker, alive, state.recovery)
    return None


def _unclean(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> Proposal | None:
    """A clean election if one is possible, else any living replica, alone in the ISR and marked as recovering."""
    clean = _offline(context, partition, state)
    if clean is not None:
        return clean
    for broker in context.replicas(partition):
        if context.is_replica_online(broker, partition):
            return Proposal(broker, (broker,), LeaderRecoveryState.RECOVERING)
    return None


def _preferred(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> Proposal | None:
    """The head of the assignment, if it lives and is in sync."""
    head = context.replicas(partition)[:1]
    for broker in head:
        if broker in state.isr and context.is_replica_online(broker, partition):
            return Proposal(broker, state.isr, state.recovery)
    return None


def _controlled_shutdown(
    context: ControllerContext, partition: TopicPartition, state: PartitionState
) -> Proposal | None:
    """The first in-sync replica that is not shutting down; those that are leave the ISR."""
    isr = tuple(broker for broker in state.isr if broker not in context.shutting_down)
    for broker in context.replicas(partition):
        if broker in isr and context.is_replica_online(broker, partition):
            return Proposal(broker, isr, state.recovery)
    return None


Rule = Callable[[ControllerContext, TopicPartition, PartitionState], "Proposal | None"]


class Strategy(Enum):
    """When a leader is elected, by which rule."""

    OFFLINE = "offline"
    UNCLEAN = "unclean"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled shutdown"


RULES: dict[Strategy, Rule] = {
    Strategy.OFFLINE: _offline,
    Strategy.UNCLEAN: _unclean,
    Strategy.PREFERRED: _preferred,
    Strategy.CONTROLLED_SHUTDOWN: _controlled_shutdown,
}


def propose(context: ControllerContext, partition: TopicPartition, strategy: Strategy) -> Proposal | None:
    """The next leader and ISR by `strategy`; None when nobody qualifies or the partition never had a state."""
    state = context.state(partition)
    return None if state is None else RULES[strategy](context, partition, state)


def propose_among(
    context: ControllerContext, partition: TopicPartition, state: PartitionState, members: Collection[int]
) -> Proposal | None:
    """For a reassignment: the present leader if it lives and is one of `members`, else the first of them that lives
    and is in sync. The others leave the ISR. None when nobody qualifies."""
    isr = tuple(broker for broker in state.isr if broker in members)
    if state.leader in isr and context.is_replica_reachable(state.leader, partition):
        return Proposal(state.leader, isr, state.recovery)
    for broker in members:
        if broker in isr and context.is_replica_online(broker, partition):
            return Proposal(broker, isr, state.recovery)
    return None
