"""Confirmed and proposed ISR: the replicas that the high watermark waits for."""

from __future__ import annotations

import pytest

from signalbox.replication.isr.isr_state import IsrState, ProposedIsr

pytestmark = pytest.mark.spec("D3")


def test_an_expansion_binds_at_once_and_a_shrink_only_when_confirmed() -> None:
    state = IsrState((1, 2))
    assert state.maximal == {1, 2}
    assert state.propose(ProposedIsr((1, 2, 3), 0, 0)).maximal == {1, 2, 3}
    assert state.propose(ProposedIsr((1,), 0, 0)).maximal == {1, 2}
    assert state.propose(ProposedIsr((1,), 0, 0)).isr == (1, 2)


def test_a_rejected_proposal_keeps_the_confirmed_isr() -> None:
    state = IsrState((1, 2), 1)
    assert state.propose(ProposedIsr((1,), 0, 0)).committed() == state


def test_proposals_are_compared_by_identity() -> None:
    assert ProposedIsr((1,), 0, 0) != ProposedIsr((1,), 0, 0)
