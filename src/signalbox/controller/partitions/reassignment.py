"""Reassignment of a partition's replicas (KIP-455): one step begins or changes the reassignment, one completes it.

    begin    the targets join the originals; the adding replicas get LeaderAndIsr and follow; replicas that were being
             added and are not targets any more are stopped and deleted
    finish   as soon as every target is in sync: leader and ISR among the targets, the others stopped and deleted

Each step is one write of the topic's assignment and the partition's state, with the leader epoch raised so that
brokers apply it. The store always has the present step: a new controller continues from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Effect, LeadersAnnounced, ReplicasStopped
from signalbox.controller.partitions.election import propose_among, unclean_proposal
from signalbox.controller.partitions.partition_control import elected, first_state, has_live_leader, next_state
from signalbox.controller.records import PartitionCreated, PartitionStateChanged, Record, TopicAssignmentChanged
from signalbox.controller.replay import preview
from signalbox.metadata.entries.partition_state import NO_LEADER, PartitionState
from signalbox.metadata.entries.topic_assignment import ReplicaAssignment
from signalbox.protocol.error_table import Error, KafkaError


@dataclass(slots=True)
class Moves:
    """Steps of several partitions, collected so that each topic's assignment is written once."""

    context: ControllerContext
    _assignments: dict[str, dict[int, ReplicaAssignment]] = field(default_factory=dict)
    _states: list[Record] = field(default_factory=list)
    _led: list[TopicPartition] = field(default_factory=list)
    _new: dict[int, list[TopicPartition]] = field(default_factory=dict)
    _stopped: dict[int, list[TopicPartition]] = field(default_factory=dict)

    def begin(self, partition: TopicPartition, wanted: ReplicaAssignment, unclean: bool) -> None:
        """Begin or change the reassignment to `wanted`; nothing is changed if the partition has it already.
        INVALID_REPLICA_ASSIGNMENT if no replica could lead the partition; `unclean`: a replica that is not in
        sync may lead."""
        context, state = self.context, self.context.state(partition)
        if wanted == context.assignment_of(partition):
            return
        if state is None:  # it never had a leader, so there is nothing to wait for
            first = first_state(context, partition, wanted.targets)
            created = () if first is None else (PartitionCreated(partition, first),)
            self._take(partition, ReplicaAssignment(wanted.targets), created)
        elif not self._finish(partition, wanted, state):
            after = _on_the_way(context, partition, wanted, state, unclean)
            self._take(partition, wanted, (PartitionStateChanged(partition, after),))

    def finish(self, partition: TopicPartition) -> None:
        """Complete the reassignment if all targets are in sync."""
        assignment, state = self.context.assignment_of(partition), self.context.state(partition)
        if state is not None and assignment.is_moving:
            self._finish(partition, assignment, state)

    def _finish(self, partition: TopicPartition, wanted: ReplicaAssignment, state: PartitionState) -> bool:
        if not set(wanted.targets) <= set(state.isr):
            return False
        proposal = propose_among(self.context, partition, state, wanted.targets)
        if proposal is None:
            return False
        after = elected(self.context, state, proposal)
        self._take(partition, ReplicaAssignment(wanted.targets), (PartitionStateChanged(partition, after),))
        return True

    def _take(self, partition: TopicPartition, after: ReplicaAssignment, states: Iterable[Record]) -> None:
        before = self.context.assignment_of(partition)
        self._assignments.setdefault(partition.topic, {})[partition.partition] = after
        self._states += states
        self._led.append(partition)
        holding = before.replicas if self.context.state(partition) else ()
        for broker_id in after.replicas:
            if broker_id not in holding:
                self._new.setdefault(broker_id, []).append(partition)
        for broker_id in before.replicas:
            if broker_id not in after.replicas:
                self._stopped.setdefault(broker_id, []).append(partition)

    def records(self) -> Iterator[Record]:
        """The records to store. A store may split them into several commits: new states come before their assignments,
        so that a reassignment that is stored in part is still under way."""
        yield from (each for each in self._states if isinstance(each, PartitionStateChanged))
        for topic, partitions in self._assignments.items():
            yield TopicAssignmentChanged(topic, self.context.topics[topic].assignment.changed(partitions))
        yield from (each for each in self._states if isinstance(each, PartitionCreated))

    def effects(self) -> Iterator[Effect]:
        """The requests to brokers."""
        if self._led:
            yield LeadersAnnounced(tuple(self._led))
        for broker_id, partitions in self._new.items():
            yield LeadersAnnounced(tuple(partitions), brokers=(broker_id,), is_new=True)
        for broker_id, partitions in self._stopped.items():
            if broker_id in self.context.brokers:
                yield ReplicasStopped(broker_id, tuple(partitions), delete=True)


def finish_moves(
    context: ControllerContext, records: Iterable[Record] = (), partitions: Iterable[TopicPartition] | None = None
) -> Decision:
    """Complete the reassignments that can be completed after `records`, of `partitions` or of all. Yields."""
    going = context.moving() if partitions is None else partitions
    candidates = [partition for partition in going if context.assignment_of(partition).is_moving]
    if not candidates:
        return Decision()
    moves = Moves(preview(context, records))
    for partition in candidates:
        moves.finish(partition)
    return Decision(records=tuple(moves.records()), effects=tuple(moves.effects()))


def resume_moves(context: ControllerContext) -> tuple[Effect, ...]:
    """At a failover: adding replicas that are not in sync may not have got LeaderAndIsr, so they get it as new ones."""
    waiting: dict[int, list[TopicPartition]] = {}
    for partition in context.moving():
        state = context.state(partition)
        for broker_id in context.assignment_of(partition).adding:
            if state is not None and broker_id not in state.isr:
                waiting.setdefault(broker_id, []).append(partition)
    return tuple(
        LeadersAnnounced(tuple(partitions), brokers=(broker_id,), is_new=True)
        for broker_id, partitions in waiting.items()
    )


def _on_the_way(
    context: ControllerContext,
    partition: TopicPartition,
    wanted: ReplicaAssignment,
    state: PartitionState,
    unclean: bool,
) -> PartitionState:
    proposal = propose_among(context, partition, state, wanted.replicas)
    isr = tuple(broker for broker in state.isr if broker in wanted.replicas)
    if proposal is None and isr and not has_live_leader(context, partition):
        return next_state(context, state, leader=NO_LEADER, isr=isr)
    if proposal is None and unclean:
        alive = [each for each in wanted.replicas if context.is_replica_online(each, partition)]
        proposal = unclean_proposal(alive[0]) if alive else None
    if proposal is None:
        raise KafkaError(
            Error.INVALID_REPLICA_ASSIGNMENT,
            f"Of the replicas {list(wanted.replicas)} of {partition} none is in sync and alive (the ISR is "
            f"{list(state.isr)}): it would require an unclean leader election.",
        )
    return elected(context, state, proposal)
