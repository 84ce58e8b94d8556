"""Brokers that return: with all their data, or after an unclean shutdown (decision 0031).

A registration says in what state the broker found its log directories (`metadata/broker_history.py`). Each registration
is applied once: the history that is stored with it tells the next controller that this was done.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import NO_LOG, ControllerContext, LogEnd
from signalbox.controller.decision import (
    Decision,
    Effect,
    Inputs,
    LeadersAnnounced,
    MetadataAnnounced,
)
from signalbox.controller.partitions.log_comparison import by_offline_reason, is_waiting, some_partitions
from signalbox.controller.partitions.partition_control import bring_online, drop_unverified
from signalbox.controller.records import BrokerHistoryKept, ElectionsWaited, LogEndsReported, Record
from signalbox.controller.replay import preview
from signalbox.metadata.broker_history import history_of, is_intact

log = logging.getLogger(__name__)


def new_registrations(context: ControllerContext) -> frozenset[int]:
    """The live brokers whose registration has not been applied yet, of those that name their log directories."""
    return frozenset(
        broker_id
        for broker_id, broker in context.brokers.items()
        if broker.registration.log_dirs
        and ((history := context.histories.get(broker_id)) is None or history.broker_epoch != broker.broker_epoch)
    )


def after_unclean_shutdown(context: ControllerContext, brokers: Iterable[int]) -> frozenset[int]:
    """Those of `brokers` (all live) that may have lost records since their registration before this one."""
    return frozenset(
        broker_id
        for broker_id in brokers
        if not is_intact(context.histories.get(broker_id), context.brokers[broker_id].registration)
    )


def histories_kept(context: ControllerContext, brokers: Iterable[int]) -> Iterator[Record]:
    """The registrations of `brokers` are applied. Must be stored after all records that follow from them."""
    for broker_id in sorted(brokers):
        broker = context.brokers[broker_id]
        before = context.histories.get(broker_id)
        yield BrokerHistoryKept(broker_id, history_of(broker.registration, broker.broker_epoch, before))


def log_ends_reported(
    context: ControllerContext,
    inputs: Inputs,
    broker_id: int,
    broker_epoch: int,
    log_ends: dict[TopicPartition, LogEnd],
) -> Decision:
    """A broker reported the log ends of partitions without a leader: the elections that waited for them. Yields."""
    broker = context.brokers.get(broker_id)
    if broker is None or broker.broker_epoch != broker_epoch:
        return Decision()
    ends = {
        partition: end
        for partition, end in log_ends.items()
        if (state := context.state(partition)) is not None
        and state.leader < 0
        and context.log_end(broker_id, partition) != end
    }
    return _elect(context, inputs, LogEndsReported(broker_id, ends), ends) if ends else Decision()


def waited_long_enough(context: ControllerContext, inputs: Inputs, awaited: dict[TopicPartition, int]) -> Decision:
    """The time to wait for members of the ISR is over for those of `awaited` that are still without a leader in
    the same leader epoch. Yields."""
    over = tuple(
        partition
        for partition, leader_epoch in awaited.items()
        if is_waiting(context, partition)
        and (state := context.state(partition)) is not None
        and state.leader_epoch == leader_epoch
    )
    if not over:
        return Decision()
    decision = _elect(context, inputs, ElectionsWaited(over), over)
    after = preview(context, decision.records)
    for reason, partitions in by_offline_reason(after, over).items():
        log.error("%d partitions stay offline (%s): %s", len(partitions), some_partitions(partitions), reason)
    return decision


def leader_lives(
    context: ControllerContext, inputs: Inputs, leader: int, partitions: Iterable[TopicPartition]
) -> Decision:
    """A leader responded in this controller's epoch."""
    changed = drop_unverified(context, leader, partitions)
    return Decision(records=tuple(changed), effects=(LeadersAnnounced(tuple(each.partition for each in changed)),))


def _elect(
    context: ControllerContext, inputs: Inputs, observed: Record, partitions: Iterable[TopicPartition]
) -> Decision:
    """Yields."""
    default = inputs.settings.unclean_leader_election_enable
    now = preview(context, [observed])
    created, led = bring_online(now, partitions, lambda topic: now.allows_unclean_election(topic, default))
    elected = {each.partition for each in led}
    for each in led:
        if now.log_end(each.state.leader, each.partition) == NO_LOG:
            log.warning(
                "Partition %s has an empty log on its new leader %d (no member of the ISR has one, and the leader never"
                " lost a log directory): records from offset 0 on are lost, if there were any",
                each.partition,
                each.state.leader,
            )
    left = tuple(partition for partition in partitions if partition not in elected)
    effects: list[Effect] = [LeadersAnnounced(tuple(elected))] if elected else []
    if left:
        effects.append(MetadataAnnounced(left))  # with another reason for being offline
    return Decision(records=(observed, *created, *led), effects=tuple(effects))
