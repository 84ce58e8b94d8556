"""What the active controller learns of partition states that leaders wrote by themselves (inter.broker.protocol.version
below 2.7, before KIP-497).

A leader changes its own ISR by one write of the state that names the version it knows, as the controller does, so that
of two writers who do not know of each other the second is refused. Of what leaders wrote the controller hears by their
notifications, some seconds later; or, before that, when it wants to write such a state and is refused (`StatesMoved`):
then it learns the states and decides again, in the same term. Before it decides what the end of a broker means it looks
by itself: who is in an ISR unknown to it would stay there. Brokers are told by UpdateMetadata alone: leader and leader
epoch are what they were. A reassignment that waited for this ISR ends with it, and members that are gone leave it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext, LiveBroker
from signalbox.controller.control_answers import Follow
from signalbox.controller.decision import Decision, Inputs, LeadersAnnounced, MetadataAnnounced
from signalbox.controller.partition_control import take_replicas_offline
from signalbox.controller.reassignment import finish_moves
from signalbox.controller.records import PartitionStateChanged, PartitionStateLearnt
from signalbox.controller.replay import preview
from signalbox.metadata.layout import partition_of_state
from signalbox.metadata.partition_state import PartitionState
from signalbox.metadata.partition_states import read_partition_states
from signalbox.metadata.store.port import CommitRefused, MetadataStore, Operation, VersionConflict, Write

States = Mapping[TopicPartition, PartitionState]


class StatesMoved(CommitRefused):
    """A leader has written a state since the controller learnt it: nothing of this commit was applied. `partitions` are
    all whose states the commit was to write, since the store names only the first that has moved."""

    def __init__(self, path: str, partitions: tuple[TopicPartition, ...]) -> None:
        super().__init__(path, "its leader has written it")
        self.partitions = partitions


def moved_by(conflict: VersionConflict, operations: Iterable[Operation]) -> StatesMoved | None:
    """What a refused commit comes to when a partition's state was in its way; None for any other entry."""
    if partition_of_state(conflict.path) is None:
        return None
    written = (partition_of_state(each.path) for each in operations if isinstance(each, Write))
    return StatesMoved(conflict.path, tuple(each for each in written if each is not None))


async def learn_states(
    store: MetadataStore, context: ControllerContext, partitions: Iterable[TopicPartition]
) -> Follow | None:
    """Read states anew; the decision that takes them over, None when `context` has all of them. Partitions that it does
    not know have no states that matter. StoreError."""
    known = [each for each in dict.fromkeys(partitions) if context.state(each) is not None]
    found = await read_partition_states(store, known)
    return (lambda now, inputs: states_changed(now, inputs, found)) if _newer(context, found) else None


async def learn_of_gone(
    store: MetadataStore, context: ControllerContext, now: Mapping[int, LiveBroker]
) -> Follow | None:
    """The same for all partitions on brokers that are gone or restarted, of `context`'s, when `now` is what the store
    has: none as long as all leaders ask the controller."""
    before = context.brokers
    if all(broker.registration.alters_partitions for broker in (*before.values(), *now.values())):
        return None
    failed = {each for each in before if each not in now or now[each].broker_epoch != before[each].broker_epoch}
    return await learn_states(
        store, context, (each for each in context.partitions() if failed & {*context.replicas(each)})
    )


def _newer(context: ControllerContext, found: States) -> dict[TopicPartition, PartitionState]:
    return {
        partition: state
        for partition, state in found.items()
        if (known := context.state(partition)) is not None
        and state.partition_epoch > known.partition_epoch
        and not context.left_alone(partition)
    }


def states_changed(context: ControllerContext, inputs: Inputs, found: States) -> Decision:
    """Takes over what is newer than the context, which may have moved on since the states were read."""
    changed = [PartitionStateLearnt(partition, state) for partition, state in _newer(context, found).items()]
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
    """A leader can let in who has just gone: it hears of it later than the controller."""
    state = context.state(partition)
    if state is None or partition.topic in context.deleting:
        return []
    gone = [each for each in state.isr if not context.is_replica_reachable(each, partition)]
    default = inputs.settings.unclean_leader_election_enable
    return take_replicas_offline(
        context, gone, (partition,), lambda topic: context.allows_unclean_election(topic, default)
    )
