"""Brokers come, go, restart and change (facts §4.10): what the list of registrations means for partitions.

A restart shows as the same id with a larger broker epoch and is a failure followed by a start. What changed besides
the epoch (endpoints, rack) only has to be told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.decision import BrokersAnnounced, Decision, Effect, Inputs, LeadersAnnounced, in_parts
from signalbox.controller.partition_control import bring_online, take_replicas_offline
from signalbox.controller.reassignment import finish_moves
from signalbox.controller.records import BrokerJoined, BrokerLeft, ReplicasOffline
from signalbox.controller.removed_replicas import ask_for_removal
from signalbox.controller.replay import preview
from signalbox.controller.topic_deletion import ask_again


def brokers_changed(context: ControllerContext, inputs: Inputs, now: Mapping[int, LiveBroker]) -> Decision:
    """`now` is what the store has: elections, and who must be told what."""
    before = context.brokers
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
    failed, newcomers = frozenset(gone + bounced), frozenset((*bounced, *joined))
    everything = tuple(context.partitions())
    return Decision(
        records=tuple(BrokerLeft(broker_id) for broker_id in failed),
        effects=(BrokersAnnounced(tuple(newcomers)),),
        then=(
            *(in_parts(everything, partial(_without, inputs, failed)) if failed else ()),
            lambda _: Decision(records=tuple(BrokerJoined(now[each]) for each in (*bounced, *joined, *modified))),
            *(in_parts(everything, partial(_with, inputs, newcomers)) if newcomers else ()),
            partial(_what_waited, newcomers),
        ),
    )


def _without(
    inputs: Inputs, failed: frozenset[int], context: ControllerContext, partitions: Sequence[TopicPartition]
) -> Decision:
    """What these partitions lose with the brokers that failed."""
    held = [partition for partition in partitions if failed.intersection(context.replicas(partition))]
    losses = take_replicas_offline(context, failed, held, _unclean(context, inputs))
    effects = (LeadersAnnounced(tuple(loss.partition for loss in losses)),) if losses else ()
    return Decision(records=tuple(losses), effects=effects)


def _with(
    inputs: Inputs, newcomers: frozenset[int], context: ControllerContext, partitions: Sequence[TopicPartition]
) -> Decision:
    """Leaders for those of these partitions that waited for the newcomers, who are told of all that they hold."""
    held = {each: tuple(tp for tp in partitions if each in context.replicas(tp)) for each in sorted(newcomers)}
    waiting = dict.fromkeys(partition for each in held.values() for partition in each)
    created, led = bring_online(context, waiting, _unclean(context, inputs))
    effects: list[Effect] = [LeadersAnnounced(tuple(each.partition for each in led))] if led else []
    effects += [LeadersAnnounced(each, brokers=(broker_id,)) for broker_id, each in held.items() if each]
    if created:
        effects.append(LeadersAnnounced(tuple(each.partition for each in created), is_new=True))
    return Decision(records=(*created, *led), effects=tuple(effects))


def _what_waited(newcomers: frozenset[int], context: ControllerContext) -> Decision:
    """Moves that can end now, and deletions that the newcomers have missed."""
    moved = finish_moves(context)
    asked = (*ask_again(context, newcomers), *ask_for_removal(context, newcomers))
    return Decision(records=moved.records, effects=(*moved.effects, *asked))


def replicas_offline(
    context: ControllerContext,
    inputs: Inputs,
    broker_id: int,
    failed: Iterable[TopicPartition],
    working: Iterable[TopicPartition],
) -> Decision:
    """A living broker answered for its replicas: those in a failed directory are lost until it says otherwise."""
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
    """A broker reported a failed log directory: its answer to LeaderAndIsr tells which replicas were in it."""
    if broker_id not in context.brokers:
        return Decision()
    partitions = tuple(context.partitions_on(broker_id))
    return Decision(effects=(LeadersAnnounced(partitions, brokers=(broker_id,)),))


def _unclean(context: ControllerContext, inputs: Inputs) -> Callable[[str], bool]:
    default = inputs.settings.unclean_leader_election_enable
    return lambda topic: context.allows_unclean_election(topic, default)
