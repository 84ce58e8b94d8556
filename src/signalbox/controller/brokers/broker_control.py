"""Brokers register, fail, restart and change: what the list of registrations means for partitions.

A restart shows as the same id with a larger broker epoch. It is handled as a failure followed by a start. A change of
anything else (endpoints, rack) is only announced in the metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from signalbox.common.ids import TopicPartition
from signalbox.controller.brokers.broker_restarts import after_unclean_shutdown, histories_kept
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.decision import BrokersAnnounced, Decision, Effect, Inputs, LeadersAnnounced
from signalbox.controller.entities.feature_control import compatible_brokers
from signalbox.controller.partitions.partition_control import bring_online, restarted_uncleanly, take_replicas_offline
from signalbox.controller.partitions.reassignment import finish_moves
from signalbox.controller.partitions.removed_replicas import delete_removed_replicas
from signalbox.controller.records import BrokerJoined, BrokerLeft, Record, ReplicasOffline
from signalbox.controller.replay import preview
from signalbox.controller.topics.topic_deletion import retry_replica_deletions


def brokers_changed(context: ControllerContext, inputs: Inputs, now: Mapping[int, LiveBroker]) -> Decision:
    """`now` is the list of registrations in the store. The decision holds elections and the requests to brokers.
    Yields."""
    before, now = context.brokers, compatible_brokers(now, context.features.levels)
    gone = [broker_id for broker_id in before if broker_id not in now]
    bounced = [
        broker_id
        for broker_id, broker in now.items()
        if broker_id in before and before[broker_id].broker_epoch != broker.broker_epoch
    ]
    joined = [broker_id for broker_id in now if broker_id not in before]
    modified = [
        broker_id
        for broker_id, broker in now.items()
        if broker_id in before and broker_id not in bounced and before[broker_id] != broker
    ]
    if not (gone or bounced or joined or modified):
        return Decision()
    failed = frozenset(gone + bounced)
    departures: list[Record] = [BrokerLeft(broker_id) for broker_id in failed]
    without = preview(context, departures)
    losses = take_replicas_offline(without, failed, _partitions_on(context, failed), _unclean(without, inputs))
    arrivals: list[Record] = [*losses, *(BrokerJoined(now[each]) for each in (*bounced, *joined, *modified))]
    new_brokers = (*bounced, *joined)
    present = preview(without, arrivals)
    waiting = _partitions_on(present, frozenset(new_brokers))
    unverified = restarted_uncleanly(present, after_unclean_shutdown(present, new_brokers), waiting)
    arrived = preview(present, unverified)
    created, led = bring_online(arrived, waiting, _unclean(arrived, inputs))
    moved = finish_moves(arrived, (*created, *led))
    touched = [each.partition for each in (*losses, *unverified, *led)]
    kept = histories_kept(arrived, (each for each in new_brokers if now[each].registration.log_dirs))
    effects: list[Effect] = [
        BrokersAnnounced(new_brokers),
        LeadersAnnounced(tuple(dict.fromkeys(touched))),
        *(LeadersAnnounced(tuple(arrived.partitions_on(each)), brokers=(each,)) for each in new_brokers),
        LeadersAnnounced(tuple(each.partition for each in created), is_new=True),
        *moved.effects,
        *retry_replica_deletions(arrived, new_brokers),
        *delete_removed_replicas(arrived, new_brokers),
    ]
    records = (*departures, *arrivals, *unverified, *created, *led, *moved.records, *kept)
    return Decision(records=records, effects=tuple(effects))


def replicas_offline(
    context: ControllerContext,
    inputs: Inputs,
    broker_id: int,
    failed: Iterable[TopicPartition],
    working: Iterable[TopicPartition],
) -> Decision:
    """A live broker reported its replicas: those in a failed directory are offline until it reports them as working.
    Yields."""
    known = context.offline_replicas.get(broker_id, frozenset())
    fresh = frozenset(failed) - known
    back = frozenset(working) & known
    if broker_id not in context.brokers or not (fresh or back):
        return Decision()
    record = ReplicasOffline(broker_id, fresh, back)
    without = preview(context, [record])
    losses = take_replicas_offline(without, (broker_id,), fresh, _unclean(without, inputs))
    after = preview(without, losses)
    created, led = bring_online(after, back, _unclean(after, inputs))
    changed = (*losses, *led)
    return Decision(
        records=(record, *changed, *created),
        effects=(
            LeadersAnnounced(tuple(each.partition for each in changed)),
            LeadersAnnounced(tuple(each.partition for each in created), is_new=True),
        ),
    )


def ask_for_replicas(context: ControllerContext, broker_id: int) -> Decision:
    """A broker reported a failed log directory: its LeaderAndIsr response says which replicas were in it. Yields."""
    if broker_id not in context.brokers:
        return Decision()
    partitions = tuple(context.partitions_on(broker_id))
    return Decision(effects=(LeadersAnnounced(partitions, brokers=(broker_id,)),))


def _partitions_on(context: ControllerContext, broker_ids: frozenset[int]) -> list[TopicPartition]:
    if not broker_ids:
        return []
    return [partition for partition in context.partitions() if broker_ids & set(context.replicas(partition))]


def _unclean(context: ControllerContext, inputs: Inputs) -> Callable[[str], bool]:
    default = inputs.settings.unclean_leader_election_enable
    return lambda topic: context.allows_unclean_election(topic, default)
