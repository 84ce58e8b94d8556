"""Leadership returns to preferred leaders when the imbalance exceeds the limit."""

from __future__ import annotations

from signalbox.controller.partitions.preferred_leaders import elect_preferred, rebalance_leaders
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context, states, tp


def test_out_of_balance_brokers_get_their_partitions_back() -> None:
    topics = {"t": {0: "1 2*", 1: "1* 2", 2: "2* 1", 3: "1 2* isr 2"}}
    decision = rebalance_leaders(make_context(1, 2, topics=topics), inputs())
    # Two of broker 1's three partitions are led by others; the one where it is not in sync keeps its leader.
    assert states(decision) == {"t-0": "1/8/4 isr 1 2"}


def test_a_small_imbalance_is_left() -> None:
    topics = {"t": {0: "1 2*", **dict.fromkeys(range(1, 10), "1* 2")}}
    context = make_context(1, 2, topics=topics)
    assert states(rebalance_leaders(context, inputs())) == {}, "10 % is not more than 10 %"
    assert set(states(rebalance_leaders(context, inputs(leader_imbalance_per_broker_percentage=9)))) == {"t-0"}


def test_partitions_under_reassignment_are_not_rebalanced() -> None:
    context = make_context(1, 2, 3, topics={"t": {0: "3 1 2* adding 3 removing 1", 1: "1 2*"}})
    assert set(states(rebalance_leaders(context, inputs()))) == {"t-1"}


def test_dead_brokers_do_not_become_leaders() -> None:
    decision = rebalance_leaders(make_context(2, topics={"t": {0: "1 2*"}}), inputs())
    assert (decision.records, decision.effects) == ((), ())


def test_chosen_partitions() -> None:
    context = make_context(1, 2, topics={"t": {0: "1 2*", 1: "1 2*"}})
    assert set(states(elect_preferred(context, [tp(1), tp(9)]))) == {"t-1"}
