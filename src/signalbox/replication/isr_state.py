"""The ISR of a partition as its leader holds it: what the controller has confirmed and what has been asked for.

While an AlterPartition is on its way the leader waits for the *maximal* ISR, the union of both (KIP-497): an expansion
binds the leader at once, a shrink frees it only when the controller has agreed. So a record below the high watermark is
on every replica that the controller may know as in sync, whichever of the two states it elects from.
"""

from __future__ import annotations

from dataclasses import dataclass, field

RECOVERED = 0
RECOVERING = 1


@dataclass(frozen=True, slots=True, eq=False)
class ProposedIsr:
    """A change that was sent to the controller. Identity counts: an answer is for one proposal."""

    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int = RECOVERED


@dataclass(frozen=True, slots=True)
class IsrState:
    """`isr` is confirmed; `pending` is what the controller has been asked to make of it."""

    isr: tuple[int, ...] = ()
    leader_recovery_state: int = RECOVERED
    pending: ProposedIsr | None = None
    maximal: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        members = set(self.isr)
        if self.pending is not None:
            members.update(self.pending.isr)
        object.__setattr__(self, "maximal", frozenset(members))

    def propose(self, proposal: ProposedIsr) -> IsrState:
        """The state while `proposal` is on its way."""
        return IsrState(self.isr, self.leader_recovery_state, proposal)

    def committed(self) -> IsrState:
        """The state without its pending change: the controller has refused it."""
        return IsrState(self.isr, self.leader_recovery_state)
