"""Leader election: the strategies of Kafka's partition state machine, each a row with its own rule.

A strategy proposes a leader and an ISR for one partition, or nothing. Every election raises the leader epoch by
one; that is done where the proposal becomes a state (`partition_control.py`).

Members of the ISR that returned after an unclean shutdown (`PartitionState.unverified`) are not candidates; if no
other member is alive, the logs are compared (`log_comparison.py`, decision 0031).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.partitions.log_comparison import fullest_log, longest_log
from signalbox.metadata.entries.partition_state import LeaderRecoveryState, PartitionState


@dataclass(frozen=True, slots=True)
class Proposal:
    """A partition's next leader and ISR. `is_unclean`: records that the leader's log lacks are lost."""

    leader: int
    isr: tuple[int, ...]
    recovery: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    is_unclean: bool = False


def unclean_proposal(leader: int) -> Proposal:
    """An election that accepts the loss of records that `leader` lacks."""
    return Proposal(leader, (leader,), LeaderRecoveryState.RECOVERING, is_unclean=True)


def _offline(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> Proposal | None:
    """The first live in-sync replica in assignment order; the ISR shrinks to its live members. If they all returned
    after an unclean shutdown: the one with the longest log, alone in the ISR."""
    alive = tuple(broker for broker in state.isr if context.is_replica_online(broker, partition))
    for broker in context.replicas(partition):
        if broker in alive and broker not in state.unverified:
            return Proposal(broker, alive, state.recovery)
    longest = longest_log(context, partition, state)
    return None if longest is None else Proposal(longest, (longest,), state.recovery)


def _unclean(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> Proposal | None:
    """A clean election if possible. Else the live replica with the longest log, alone in the ISR and marked as
    recovering; the first of the assignment if the logs are not known."""
    clean = _offline(context, partition, state)
    if clean is not None:
        return clean
    fullest = fullest_log(context, partition)
    return None if fullest is None else unclean_proposal(fullest)


def _preferred(context: ControllerContext, partition: TopicPartition, state: PartitionState) -> Proposal | None:
    """The preferred replica (the first of the assignment), if it is alive and in sync."""
    head = context.replicas(partition)[:1]
    for broker in head:
        if broker in state.verified_isr and context.is_replica_online(broker, partition):
            return Proposal(broker, state.isr, state.recovery)
    return None


def _controlled_shutdown(
    context: ControllerContext, partition: TopicPartition, state: PartitionState
) -> Proposal | None:
    """The first in-sync replica that is not shutting down; those that are shutting down leave the ISR."""
    isr = tuple(broker for broker in state.isr if broker not in context.shutting_down)
    for broker in context.replicas(partition):
        if broker in isr and broker not in state.unverified and context.is_replica_online(broker, partition):
            return Proposal(broker, isr, state.recovery)
    return None


Rule = Callable[[ControllerContext, TopicPartition, PartitionState], "Proposal | None"]


class Strategy(Enum):
    """The occasions of an election; RULES has the rule of each."""

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
    """The next leader and ISR by `strategy`; None if no replica is eligible or the partition never had a state."""
    state = context.state(partition)
    return None if state is None else RULES[strategy](context, partition, state)


def propose_among(
    context: ControllerContext, partition: TopicPartition, state: PartitionState, members: Collection[int]
) -> Proposal | None:
    """For a reassignment: the present leader if it is alive and one of `members`, else the first of them that is
    alive and in sync. The others leave the ISR. None if no replica is eligible."""
    isr = tuple(broker for broker in state.isr if broker in members)
    if state.leader in isr and context.is_replica_reachable(state.leader, partition):
        return Proposal(state.leader, isr, state.recovery)
    for broker in members:
        if broker in isr and broker not in state.unverified and context.is_replica_online(broker, partition):
            return Proposal(broker, isr, state.recovery)
    return None
