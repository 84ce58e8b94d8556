"""Reassignment step by step (KIP-455): replicas, leader and ISR after each step, and the brokers that are notified."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signalbox.controller.brokers.broker_control import brokers_changed
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Effect, LeadersAnnounced, ReplicasStopped
from signalbox.controller.election.failover import take_over
from signalbox.controller.partitions.alter_partition import alter_partition
from signalbox.controller.partitions.reassignment import Moves, finish_moves
from signalbox.controller.records import PartitionCreated
from signalbox.metadata.entries.partition_state import LeaderRecoveryState
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest
from tests.controller.cluster import inputs
from tests.controller.contexts import after, live, make_context, placed, states, topic_id, tp

MOVING = "4 1* 2 isr 1 2 adding 4 removing 2"


def context_of(partition: str, *broker_ids: int) -> ControllerContext:
    return make_context(*(broker_ids or (1, 2, 3, 4)), topics={"t": {0: partition}})


def begin(
    partition: str, targets: tuple[int, ...], *broker_ids: int, unclean: bool = False
) -> tuple[str, str, Decision]:
    """Replicas and state after the first step towards `targets`."""
    context = context_of(partition, *broker_ids)
    moves = Moves(context)
    moves.begin(tp(0), context.assignment_of(tp(0)).towards(targets), unclean)
    decision = Decision(records=tuple(moves.records()), effects=tuple(moves.effects()))
    return placed(after(context, decision)), states(decision).get("t-0", ""), decision


def isr_grows_to(context: ControllerContext, *isr: int) -> Decision:
    """The leader's AlterPartition."""
    state = context.state(tp(0))
    assert state is not None
    wanted = AlterPartitionRequest.PartitionData(
        partition_index=0, new_isr=list(isr), leader_epoch=state.leader_epoch, partition_epoch=state.partition_epoch
    )
    topic = AlterPartitionRequest.TopicData(topic_id=topic_id("t"), partitions=[wanted])
    request = AlterPartitionRequest(broker_id=state.leader, broker_epoch=state.leader * 100, topics=[topic])
    return alter_partition(context, inputs(), request)


def test_the_first_step_adds_the_targets_and_raises_the_leader_epoch() -> None:
    replicas, state, decision = begin("1* 2 3", (4, 2))
    assert (replicas, state) == ("4 2 1 3 adding 4 removing 1 3", "1/8/4 isr 1 2 3")
    assert decision.effects == (
        LeadersAnnounced((tp(0),)),
        LeadersAnnounced((tp(0),), brokers=(4,), is_new=True),
    )


@pytest.mark.parametrize(
    ("now", "targets", "replicas", "state"),
    [
        ("1* 2 3", (2, 1, 3), "2 1 3", "1/8/4 isr 1 2 3"),  # only another order: the leader stays
        ("1* 2 3 isr 1 2", (3, 2, 1), "3 2 1", "1/8/4 isr 1 2"),  # nothing to wait for
        ("1* 2 3", (2, 3), "2 3 removed 1", "2/8/4 isr 2 3"),  # fewer replicas, all of them in sync
        ("1* 2 3 isr 1 2", (2, 3), "2 3 1 removing 1", "1/8/4 isr 1 2"),  # waits for 3
        (MOVING, (3, 1), "3 1 2 adding 3 removing 2 removed 4", "1/8/4 isr 1 2"),  # other targets
        (MOVING, (1, 2), "1 2 removed 4", "1/8/4 isr 1 2"),  # back to the former replicas
        ("4 1 2* isr 2 4 adding 4 removing 2", (1, 2), "1 2 removed 4", "2/8/4 isr 2"),
        ("4* 1 2 isr 4 1 adding 4 removing 2", (1, 2), "1 2 removed 4", "1/8/4 isr 1"),  # 4 led already
        ("4* 1 2 isr 4 adding 4 removing 1 2", (4, 3), "4 3 1 2 adding 4 3 removing 1 2", "4/8/4 isr 4"),
        ("1* 2", (1, 2), "1 2", ""),  # targets already reached
        (MOVING, (4, 1), "4 1 2 adding 4 removing 2", ""),  # the same targets
    ],
)
def test_steps(now: str, targets: tuple[int, ...], replicas: str, state: str) -> None:
    assert begin(now, targets)[:2] == (replicas, state)


def test_who_is_not_wanted_any_more_is_stopped_and_deleted() -> None:
    _, _, decision = begin(MOVING, (3, 1))
    assert ReplicasStopped(4, (tp(0),), delete=True) in decision.effects
    _, _, decision = begin(MOVING, (3, 1), 1, 2, 3)
    assert not any(isinstance(effect, ReplicasStopped) for effect in decision.effects), "broker 4 is away"


def test_a_partition_is_not_left_to_a_replica_that_is_not_in_sync() -> None:
    with pytest.raises(KafkaError) as rejected:
        begin("4* 1 2 isr 4 adding 4 removing 2", (1, 2))
    assert rejected.value.error is Error.INVALID_REPLICA_ASSIGNMENT
    replicas, state, decision = begin("4* 1 2 isr 4 adding 4 removing 2", (1, 2), unclean=True)
    assert (replicas, state) == ("1 2 removed 4", "1/8/4 isr 1")
    changed = after(context_of(MOVING), decision).state(tp(0))
    assert changed is not None
    assert changed.recovery is LeaderRecoveryState.RECOVERING
    with pytest.raises(KafkaError):
        begin("4* 1 2 isr 4 adding 4 removing 2", (1, 2), 4, unclean=True)


def test_a_leader_that_is_shutting_down_keeps_leading_on_the_way() -> None:
    context = replace(context_of("1* isr 1"), shutting_down=frozenset({1}))
    moves = Moves(context)
    moves.begin(tp(0), context.assignment_of(tp(0)).towards((4, 1)), unclean=False)
    assert states(Decision(records=tuple(moves.records()))) == {"t-0": "1/8/4 isr 1"}


def test_a_partition_without_a_leader_moves_and_waits() -> None:
    replicas, state, _ = begin("1 2 isr 1", (1, 3), 2, 3)
    assert (replicas, state) == ("1 3 2 adding 3 removing 2", "-1/8/4 isr 1")


def test_a_partition_that_never_had_a_leader_gets_one() -> None:
    replicas, state, decision = begin("9 isr new", (3, 4))
    assert (replicas, state) == ("3 4 removed 9", "3/0/0 isr 3 4")
    assert isinstance(decision.records[1], PartitionCreated)
    assert LeadersAnnounced((tp(0),), brokers=(3,), is_new=True) in decision.effects


@pytest.mark.parametrize(
    ("now", "isr", "replicas", "state"),
    [
        (MOVING, (1, 2, 4), "4 1 removed 2", "1/8/5 isr 1 4"),  # the leader is a target
        ("3 4 1* isr 1 3 adding 3 4 removing 1", (1, 3, 4), "3 4 removed 1", "3/8/5 isr 3 4"),  # the leader must change
    ],
)
def test_the_move_ends_when_the_last_target_is_in_sync(
    now: str, isr: tuple[int, ...], replicas: str, state: str
) -> None:
    context = context_of(now)
    decision = isr_grows_to(context, *isr)
    assert states(decision) == {"t-0": state}
    done = after(context, decision)
    assert placed(done) == replicas
    gone = next(effect for effect in decision.effects if isinstance(effect, ReplicasStopped))
    assert (gone.partitions, gone.delete) == ((tp(0),), True)
    assert done.assignment_of(tp(0)).is_moving is False


def test_only_the_named_partitions_are_looked_at() -> None:
    context = context_of("3 4 1* isr 1 3 4 adding 3 4 removing 1")
    assert finish_moves(context, partitions=[]) == Decision()
    assert finish_moves(context, partitions=[tp(0)]) == finish_moves(context) != Decision()


def test_it_does_not_end_before() -> None:
    context = context_of("3 4 1* isr 1 adding 3 4 removing 1")
    decision = isr_grows_to(context, 1, 3)
    assert placed(after(context, decision)) == "3 4 1 adding 3 4 removing 1"
    assert states(decision) == {"t-0": "1/7/4 isr 1 3"}


def test_it_does_not_end_without_a_target_that_can_lead() -> None:
    context = context_of("4 1* isr 1 4 adding 4 removing 1", 1)
    assert finish_moves(context) == Decision()
    returned = brokers_changed(context, inputs(), live(1, 4))
    assert placed(after(context, returned)) == "4 removed 1"
    assert states(returned) == {"t-0": "4/8/4 isr 4"}


def announced_to(effects: tuple[Effect, ...], broker_id: int) -> list[LeadersAnnounced]:
    return [each for each in effects if isinstance(each, LeadersAnnounced) and each.brokers == (broker_id,)]


@pytest.mark.spec("F1")
def test_a_new_controller_goes_on() -> None:
    """The old controller failed before it notified the added replica, or before the last step."""
    waiting = take_over(context_of(MOVING), inputs())
    assert (placed(after(context_of(MOVING), waiting)), states(waiting)) == ("4 1 2 adding 4 removing 2", {})
    assert announced_to(waiting.effects, 4) == [LeadersAnnounced((tp(0),), brokers=(4,), is_new=True)]
    arrived = context_of("4 1* 2 isr 1 2 4 adding 4 removing 2")
    ended = take_over(arrived, inputs())
    assert (placed(after(arrived, ended)), states(ended)) == ("4 1 removed 2", {"t-0": "1/8/4 isr 1 4"})
    assert ReplicasStopped(2, (tp(0),), delete=True) in ended.effects


def test_a_death_on_the_way_elects_and_goes_on() -> None:
    context = context_of(MOVING)
    lost = brokers_changed(context, inputs(), live(2, 3, 4))
    assert states(lost) == {"t-0": "2/8/4 isr 2"}
    going = after(context, lost)
    assert placed(going) == "4 1 2 adding 4 removing 2"
    assert placed(after(going, isr_grows_to(going, 2, 4))) == "4 1 2 adding 4 removing 2", "1 is to return"


def test_the_deletion_of_a_topic_ends_its_moves() -> None:
    context = replace(context_of("4 1* 2 isr 1 2 4 adding 4 removing 2"), deleting={"t": frozenset()})
    assert (list(context.moving()), finish_moves(context)) == ([], Decision())
