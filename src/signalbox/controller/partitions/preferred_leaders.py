"""Periodic move of leadership back to preferred replicas (`auto.leader.rebalance.enable`).

A broker is out of balance if others lead more than `leader.imbalance.per.broker.percentage` of the partitions of which
it is the preferred leader. Leadership moves only if the preferred replica is alive and in sync, and the partition has
no reassignment under way.
"""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs, LeadersAnnounced
from signalbox.controller.partitions.election import Strategy, propose
from signalbox.controller.partitions.partition_control import elected
from signalbox.controller.records import PartitionStateChanged


def rebalance_leaders(context: ControllerContext, inputs: Inputs) -> Decision:
    """Preferred elections for every broker that is out of balance."""
    preferred: dict[int, list[TopicPartition]] = {}
    for partition in context.partitions():
        replicas = context.replicas(partition)
        if replicas and replicas[0] in context.brokers and not context.assignment_of(partition).is_moving:
            preferred.setdefault(replicas[0], []).append(partition)
    wanted = []
    for broker_id, partitions in preferred.items():
        led_by_others = [
            partition
            for partition in partitions
            if (state := context.state(partition)) is not None and state.leader != broker_id
        ]
        ratio = len(led_by_others) / len(partitions) * 100
        if ratio > inputs.settings.leader_imbalance_per_broker_percentage:
            wanted += led_by_others
    return elect_preferred(context, wanted)


def elect_preferred(context: ControllerContext, partitions: Iterable[TopicPartition]) -> Decision:
    """Elect the preferred replicas of `partitions` where they are eligible and do not lead already."""
    changed = []
    for partition in partitions:
        state = context.state(partition)
        proposal = propose(context, partition, Strategy.PREFERRED)
        if state is not None and proposal is not None and proposal.leader != state.leader:
            changed.append(PartitionStateChanged(partition, elected(context, state, proposal)))
    effects = (LeadersAnnounced(tuple(each.partition for each in changed)),)
    return Decision(records=tuple(changed), effects=effects if changed else ())
