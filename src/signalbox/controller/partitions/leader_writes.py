"""How the active controller observes partition states that leaders wrote themselves (inter.broker.protocol.version
below 2.7, before KIP-497).

A leader changes its own ISR by one write of the state under the version that it knows, as the controller does. Of two
writers that do not know of each other, the second is rejected. The controller gets the leaders' change notifications
some seconds later. Or it is rejected before that, when it writes such a state (`PartitionStateConflict`): then it
reads the states and decides again, in the same controller epoch. Before it decides about a broker that failed, it reads
the states itself: a failed member of an ISR that the controller does not know would stay in it. Brokers get only
UpdateMetadata: leader and leader epoch did not change. A reassignment that waited for this ISR is completed, and dead
members leave the ISR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.control_requests.control_answers import Follow
from signalbox.controller.decision import Decision, Inputs, LeadersAnnounced, MetadataAnnounced
from signalbox.controller.partitions.partition_control import take_replicas_offline
from signalbox.controller.partitions.reassignment import finish_moves
from signalbox.controller.records import PartitionStateChanged, PartitionStateObserved
from signalbox.controller.replay import preview
from signalbox.metadata.entries.partition_state import PartitionState
from signalbox.metadata.entries.partition_states import read_partition_states
from signalbox.metadata.layout import partition_of_state
from signalbox.metadata.store.port import CommitRejected, MetadataStore, Operation, VersionConflict, Write

States = Mapping[TopicPartition, PartitionState]


class PartitionStateConflict(CommitRejected):
    """A leader has written a state since the controller read it: nothing of this commit was applied. `partitions`: all
    whose states the commit was to write, because the store names only the first that has changed."""

    def __init__(self, path: str, partitions: tuple[TopicPartition, ...]) -> None:
        super().__init__(path, "its leader has written it")
        self.partitions = partitions


def state_conflict_of(conflict: VersionConflict, operations: Iterable[Operation]) -> PartitionStateConflict | None:
    """The conflict of a rejected commit if a partition's state was changed; None for any other entry."""
    if partition_of_state(conflict.path) is None:
        return None
    written = (partition_of_state(each.path) for each in operations if isinstance(each, Write))
    return PartitionStateConflict(conflict.path, tuple(each for each in written if each is not None))


async def read_newer_states(
    store: MetadataStore, context: ControllerContext, partitions: Iterable[TopicPartition]
) -> Follow | None:
    """Read states again; the decision that applies them, None if `context` has all of them. Partitions that it does
    not know are ignored. StoreError."""
    known = [each for each in dict.fromkeys(partitions) if context.state(each) is not None]
    found = await read_partition_states(store, known)
    return (lambda now, inputs: states_changed(now, inputs, found)) if _newer(context, found) else None


async def read_states_of_failed_brokers(
    store: MetadataStore, context: ControllerContext, now: Mapping[int, LiveBroker]
) -> Follow | None:
    """The same for all partitions of `context` on brokers that failed or restarted, if `now` is what the store has.
    None as long as all leaders send AlterPartition to the controller."""
    before = context.brokers
    if all(broker.registration.alters_partitions for broker in (*before.values(), *now.values())):
        return None
    failed = {each for each in before if each not in now or now[each].broker_epoch != before[each].broker_epoch}
    return await read_newer_states(
        store, context, (each for each in context.partitions() if failed & {*context.replicas(each)})
    )


def _newer(context: ControllerContext, found: States) -> dict[TopicPartition, PartitionState]:
    return {
        partition: state
        for partition, state in found.items()
        if (known := context.state(partition)) is not None
        and state.partition_epoch > known.partition_epoch
        and not context.is_quarantined(partition)
    }


def states_changed(context: ControllerContext, inputs: Inputs, found: States) -> Decision:
    """Apply the states that are newer than the context, which may have changed since the states were read. Yields."""
    changed = [PartitionStateObserved(partition, state) for partition, state in _newer(context, found).items()]
    if not changed:
        return Decision()
    partitions = tuple(each.partition for each in changed)
    settled = preview(context, changed)
    losses = [loss for each in partitions for loss in _without_the_gone(settled, inputs, each)]
    arrived = finish_moves(preview(settled, losses), partitions=partitions)
    return Decision(
        records=(*changed, *losses, *arrived.records),
        effects=(
            MetadataAnnounced(partitions),
            LeadersAnnounced(tuple(each.partition for each in losses)),
            *arrived.effects,
        ),
    )


def _without_the_gone(
    context: ControllerContext, inputs: Inputs, partition: TopicPartition
) -> list[PartitionStateChanged]:
    """A leader can add a replica to the ISR that has just failed: the controller notices the failure first. Yields."""
    state = context.state(partition)
    if state is None or partition.topic in context.deleting:
        return []
    gone = [each for each in state.isr if not context.is_replica_reachable(each, partition)]
    default = inputs.settings.unclean_leader_election_enable
    return take_replicas_offline(
        context, gone, (partition,), lambda topic: context.allows_unclean_election(topic, default)
    )
