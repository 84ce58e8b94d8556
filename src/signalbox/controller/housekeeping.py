"""The controller's periodic tasks."""

from __future__ import annotations

from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.partitions.preferred_leaders import rebalance_leaders
from signalbox.controller.partitions.reassignment import finish_moves
from signalbox.controller.partitions.removed_replicas import delete_removed_replicas
from signalbox.controller.topics.topic_deletion import retry_replica_deletions


def housekeeping(context: ControllerContext, inputs: Inputs) -> Decision:
    """Move leadership back to preferred replicas, if enabled; complete reassignments that can be completed; repeat the
    requests of deletions that are not complete. Yields."""
    balance = rebalance_leaders(context, inputs) if inputs.settings.auto_leader_rebalance_enable else Decision()
    moved = finish_moves(context, balance.records)
    again = (
        *retry_replica_deletions(context, list(context.brokers)),
        *delete_removed_replicas(context, context.brokers),
    )
    return Decision(records=(*balance.records, *moved.records), effects=(*balance.effects, *moved.effects, *again))
