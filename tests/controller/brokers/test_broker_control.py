"""Brokers register, fail, restart, change their address."""

from __future__ import annotations

from dataclasses import replace

from signalbox.controller.brokers.broker_control import ask_for_replicas, brokers_changed, replicas_offline
from signalbox.controller.context import LiveBroker, ReplicaOfTopic
from signalbox.controller.decision import BrokersAnnounced, Decision, LeadersAnnounced, ReplicasStopped
from tests.controller.cluster import inputs, registration
from tests.controller.contexts import after, live, make_context, states, tp

TOPICS = {"t": {0: "1* 2 3", 1: "2* 3 1", 2: "3* 1 2"}}


def test_nothing_new_is_no_decision() -> None:
    assert brokers_changed(make_context(1, 2), inputs(), live(1, 2)) == Decision()


def test_a_broker_dies() -> None:
    context = make_context(1, 2, 3, topics=TOPICS, shutting_down=frozenset({1}))
    decision = brokers_changed(context, inputs(), live(2, 3))
    assert states(decision) == {"t-0": "2/8/4 isr 2 3", "t-1": "2/8/4 isr 2 3", "t-2": "3/8/4 isr 3 2"}
    assert decision.effects[:2] == (BrokersAnnounced(()), LeadersAnnounced((tp(0), tp(1), tp(2))))
    left = after(context, decision)
    assert (set(left.brokers), left.shutting_down) == ({2, 3}, frozenset())


def test_a_broker_that_returns_gets_the_full_metadata() -> None:
    context = make_context(2, 3, topics={"t": {0: "1 2 isr 1", 1: "2* 1 isr 2", 2: "3* 2"}})
    decision = brokers_changed(context, inputs(), live(1, 2, 3))
    # Partition 0 waited for broker 1. Of partition 1 it only needs the state.
    assert states(decision) == {"t-0": "1/8/4 isr 1"}
    assert decision.effects[0] == BrokersAnnounced((1,))
    assert LeadersAnnounced((tp(0),)) in decision.effects
    assert LeadersAnnounced((tp(0), tp(1)), brokers=(1,)) in decision.effects


def test_a_restart_is_a_failure_and_a_start() -> None:
    context = make_context(1, 2, 3, topics={"t": {0: "1* 2", 1: "1* 2 isr 1"}})
    restarted = {**live(1, 2, 3), 1: LiveBroker(registration(1), 999)}
    decision = brokers_changed(context, inputs(), restarted)
    changed = after(context, decision)
    assert changed.brokers[1].broker_epoch == 999
    first, second = changed.state(tp(0)), changed.state(tp(1))
    assert first is not None
    assert second is not None
    assert (first.leader, first.isr, first.leader_epoch) == (2, (2,), 8)
    # No other replica was in sync: broker 1 leads again, with a new leader epoch for each step.
    assert (second.leader, second.isr, second.leader_epoch, second.partition_epoch) == (1, (1,), 9, 5)


def test_a_new_address_is_only_announced() -> None:
    context = make_context(1, 2, topics=TOPICS)
    moved = {**live(1, 2), 2: LiveBroker(registration(2, rack="new"), 200)}
    decision = brokers_changed(context, inputs(), moved)
    assert states(decision) == {}
    assert decision.effects[0] == BrokersAnnounced(())
    assert after(context, decision).brokers[2].registration.rack == "new"


def test_new_partitions_get_their_first_leader_when_a_broker_joins() -> None:
    context = make_context(2, topics={"t": {0: "1 isr new"}})
    decision = brokers_changed(context, inputs(), live(1, 2))
    assert states(decision) == {"t-0": "1/0/0 isr 1"}
    assert LeadersAnnounced((tp(0),), is_new=True) in decision.effects


def test_unclean_elections_follow_the_settings() -> None:
    context = make_context(1, 2, topics={"t": {0: "1* 2 isr 1"}, "safe": {0: "1* 2 isr 1"}})
    context = replace(context, configs={"topics/safe": {"unclean.leader.election.enable": "false"}})
    decision = brokers_changed(context, inputs(unclean_leader_election_enable=True), live(2))
    assert states(decision) == {"t-0": "2/8/4 isr 2", "safe-0": "-1/8/4 isr 1"}


def test_topics_under_deletion_get_no_leader_but_stop_replica() -> None:
    context = make_context(2, topics=TOPICS, deleting={"t": frozenset({ReplicaOfTopic(0, 1)})})
    decision = brokers_changed(context, inputs(), live(1, 2))
    assert states(decision) == {}
    assert ReplicasStopped(1, (tp(0),), delete=True) in decision.effects


def test_a_failed_directory_moves_its_leaders() -> None:
    context = make_context(1, 2, 3, topics=TOPICS)
    decision = replicas_offline(context, inputs(), 1, [tp(0)], [tp(1), tp(2)])
    assert states(decision) == {"t-0": "2/8/4 isr 2 3"}
    broken = after(context, decision)
    assert broken.offline_replicas[1] == {tp(0)}
    assert replicas_offline(broken, inputs(), 1, [tp(0)], []) == Decision()
    repaired = after(broken, replicas_offline(broken, inputs(), 1, [], [tp(0)]))
    assert repaired.offline_replicas[1] == frozenset()


def test_a_repaired_directory_brings_its_partition_back() -> None:
    context = make_context(1, topics={"t": {0: "1*"}})
    broken = after(context, replicas_offline(context, inputs(), 1, [tp(0)], []))
    state = broken.state(tp(0))
    assert state is not None
    assert state.leader == -1
    assert states(replicas_offline(broken, inputs(), 1, [], [tp(0)])) == {"t-0": "1/9/5 isr 1"}


def test_an_unknown_broker_has_no_replicas() -> None:
    context = make_context(1, topics=TOPICS)
    assert replicas_offline(context, inputs(), 9, [tp(0)], []) == Decision()
    assert ask_for_replicas(context, 9) == Decision()
    assert ask_for_replicas(context, 1).effects == (LeadersAnnounced((tp(0), tp(1), tp(2)), brokers=(1,)),)
