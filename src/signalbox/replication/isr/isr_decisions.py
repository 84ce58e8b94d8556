"""Decides when a follower leaves or joins the ISR, and applies the controller's response; `isr` sends the proposals.

Out: it has not been caught up for replica.lag.time.max.ms (KIP-16). In: it has everything below the high watermark and
everything from before this leader epoch, and its broker is registered (KIP-841; the controller checks the broker epoch
with which it fetched, KIP-903). One change per partition at a time. A corrupt replica, leader or follower, proposes an
ISR without itself.
"""

from __future__ import annotations

from enum import Enum

from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition import AlterPartitionResponse
from signalbox.replication.isr.follower_state import FollowerState
from signalbox.replication.isr.isr_state import RECOVERED, RECOVERING, IsrState, ProposedIsr
from signalbox.replication.partition import NO_LEADER, Partition

AlteredPartition = AlterPartitionResponse.PartitionData


class NextAction(Enum):
    """What happens to a proposal after the response."""

    DONE = "done"  # committed, withdrawn or superseded: nothing more to send
    RETRY = "retry"  # the controller could not decide: send the same proposal again


# The controller rejects this proposal; the leader's confirmed state is still valid.
_WITHDRAW = frozenset({Error.OPERATION_NOT_ATTEMPTED, Error.INELIGIBLE_REPLICA})
# The controller has a newer state than this leader: a LeaderAndIsr will follow; until then the maximal ISR is kept.
_AWAIT_LEADER_AND_ISR = frozenset(
    {
        Error.UNKNOWN_TOPIC_OR_PARTITION,
        Error.UNKNOWN_TOPIC_ID,
        Error.FENCED_LEADER_EPOCH,
        Error.INVALID_UPDATE_VERSION,
        Error.INVALID_REQUEST,
        Error.NEW_LEADER_ELECTED,
    }
)


def propose_shrink(partition: Partition, now_ms: int, max_lag_ms: int) -> ProposedIsr | None:
    """The ISR without the lagging followers; None if no follower lags."""
    log = partition.log
    state = partition.isr_state
    if not partition.is_leader or log is None or state.pending is not None:
        return None
    end_offset = log.log_end_offset
    lagging = {
        broker_id
        for broker_id in state.isr
        if (follower := partition.followers.get(broker_id)) is not None
        and not follower.is_caught_up(end_offset, now_ms, max_lag_ms)
    }
    if not lagging:
        return None
    return _propose(partition, tuple(broker_id for broker_id in state.isr if broker_id not in lagging))


def propose_expansion(partition: Partition, follower: FollowerState, cluster: MetadataCache) -> ProposedIsr | None:
    """The ISR with `follower`; None if it is in the ISR or does not yet meet the conditions."""
    state = partition.isr_state
    if (
        follower.broker_id in state.maximal
        or state.pending is not None
        or state.leader_recovery_state == RECOVERING
        or not _has_caught_up(partition, follower)
        or not cluster.is_alive(follower.broker_id)
    ):
        return None
    return _propose(partition, (*state.isr, follower.broker_id))


def propose_recovered(partition: Partition) -> ProposedIsr | None:
    """After an unclean election: report to the controller that this leader has recovered (KIP-704)."""
    state = partition.isr_state
    if state.leader_recovery_state != RECOVERING or state.pending is not None:
        return None
    return _propose(partition, state.isr)


def propose_leave(partition: Partition) -> ProposedIsr | None:
    """For a corrupt replica: the ISR without it; if it is the leader, another one is elected. None if no other replica
    is in sync, or a change is pending. The controller takes the members from its own ISR."""
    state = partition.isr_state
    if partition.log is None or state.pending is not None:
        return None
    others = state.isr if partition.is_leader else (partition.leader_id,)
    isr = tuple(broker_id for broker_id in others if broker_id not in (partition.local_id, NO_LEADER))
    return _propose(partition, isr) if isr else None


def apply_response(partition: Partition, proposal: ProposedIsr, response: AlteredPartition) -> NextAction:
    """Apply the controller's response to `proposal`."""
    if partition.isr_state.pending is not proposal:
        return NextAction.DONE
    error = Error.of(response.error_code)
    if partition.local_id not in proposal.isr:
        return _apply_leave_response(partition, error)
    if not partition.is_leader:
        return NextAction.DONE
    if error is not Error.NONE:
        return _apply_rejection(partition, error)
    if response.leader_epoch != partition.leader_epoch or response.partition_epoch < partition.partition_epoch:
        return NextAction.DONE
    partition.partition_epoch = response.partition_epoch
    partition.set_isr(IsrState(tuple(response.isr), response.leader_recovery_state))
    partition.advance_high_watermark()
    partition.wake_all()
    return NextAction.DONE


def _apply_leave_response(partition: Partition, error: Error) -> NextAction:
    """Accepted: a LeaderAndIsr will follow. Rejected: the current state is kept, and `corrupt_logs` retries."""
    if error in _WITHDRAW or error in _AWAIT_LEADER_AND_ISR:
        partition.set_isr(partition.isr_state.committed())
    elif error is not Error.NONE:
        return NextAction.RETRY
    return NextAction.DONE


def _apply_rejection(partition: Partition, error: Error) -> NextAction:
    if error in _AWAIT_LEADER_AND_ISR:
        return NextAction.DONE
    if error in _WITHDRAW:
        partition.set_isr(partition.isr_state.committed())
        partition.advance_high_watermark()
        return NextAction.DONE
    return NextAction.RETRY


def _propose(partition: Partition, isr: tuple[int, ...]) -> ProposedIsr:
    proposal = ProposedIsr(isr, partition.leader_epoch, partition.partition_epoch, RECOVERED)
    partition.set_isr(partition.isr_state.propose(proposal))
    return proposal


def _has_caught_up(partition: Partition, follower: FollowerState) -> bool:
    start = partition.leader_epoch_start_offset
    end = follower.log_end_offset
    return partition.is_leader and start is not None and end >= partition.high_watermark and end >= start
