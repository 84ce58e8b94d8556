"""The ISR of a partition on its leader: the ISR that the controller has confirmed, and the proposed one.

While an AlterPartition is pending, the leader waits for the *maximal* ISR, the union of both (KIP-497): an expansion is
effective at once, a shrink only after the controller has accepted it. So a record below the high watermark is on every
replica that the controller may regard as in sync, from whichever of the two states it elects.
"""

from __future__ import annotations

from dataclasses import dataclass, field

RECOVERED = 0
RECOVERING = 1


@dataclass(frozen=True, slots=True, eq=False)
class ProposedIsr:
    """A change that was sent to the controller. Compared by identity: a response is for one proposal."""

    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int = RECOVERED


@dataclass(frozen=True, slots=True)
class IsrState:
    """`isr` is confirmed; `pending` is the change that was proposed to the controller."""

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
        """The state while `proposal` is pending."""
        return IsrState(self.isr, self.leader_recovery_state, proposal)

    def committed(self) -> IsrState:
        """The state without its pending change: the controller has rejected it."""
        return IsrState(self.isr, self.leader_recovery_state)
