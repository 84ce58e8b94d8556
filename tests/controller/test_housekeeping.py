"""Periodic work: leader balance, and retries of unfinished deletions."""

from __future__ import annotations

from signalbox.controller.context import ReplicaOfTopic
from signalbox.controller.decision import LeadersAnnounced, ReplicasStopped
from signalbox.controller.housekeeping import housekeeping
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context, states, tp

CONTEXT = make_context(
    1, 2, topics={"t": {0: "1 2*"}, "going": {0: "1* 3"}},
    deleting={"going": frozenset({ReplicaOfTopic(0, 1), ReplicaOfTopic(0, 3)})},
)  # fmt: skip


def test_balance_and_deletions() -> None:
    decision = housekeeping(CONTEXT, inputs(auto_leader_rebalance_enable=True))
    assert states(decision) == {"t-0": "1/8/4 isr 1 2"}
    assert decision.effects == (LeadersAnnounced((tp(0),)), ReplicasStopped(1, (tp(0, "going"),), delete=True))


def test_balance_can_be_switched_off() -> None:
    assert states(housekeeping(CONTEXT, inputs(auto_leader_rebalance_enable=False))) == {}
