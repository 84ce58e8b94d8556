"""What the controller looks after from time to time without being asked."""

from __future__ import annotations

from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.preferred_leaders import rebalance_leaders
from signalbox.controller.topic_deletion import ask_again


def housekeeping(context: ControllerContext, inputs: Inputs) -> Decision:
    """Leadership back to preferred replicas where that is wanted; deletions that hang are asked for again."""
    balance = rebalance_leaders(context, inputs) if inputs.settings.auto_leader_rebalance_enable else Decision()
    return Decision(records=balance.records, effects=(*balance.effects, *ask_again(context, list(context.brokers))))
