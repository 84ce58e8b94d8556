"""Partitions get, keep and lose leaders: one state change each, leader and partition epoch raised by one."""

from __future__ import annotations

from signalbox.controller.partitions.partition_control import (
    bring_online,
    first_state,
    has_live_leader,
    is_offline,
    take_replicas_offline,
)
from tests.controller.contexts import EPOCH, make_context, state_text, tp


def never(topic: str) -> bool:
    return False


def always(topic: str) -> bool:
    return True


def test_first_states() -> None:
    context = make_context(2, 3, shutting_down=frozenset({2}))
    assert state_text(first_state(context, tp(0), (1, 2, 3))) == "3/0/0 isr 3"
    assert state_text(first_state(make_context(2), tp(0), (1, 2))) == "2/0/0 isr 2"
    assert state_text(first_state(make_context(2, shutting_down=frozenset({2})), tp(0), (2,))) == "2/0/0 isr 2"
    assert first_state(make_context(), tp(0), (1, 2)) is None


def test_a_broken_broker_loses_leaderships_and_isr_places() -> None:
    topics = {
        "t": {
            0: "1* 2 3",  # led by the failed broker
            1: "2* 1 3",  # followed by the failed broker
            2: "2* 3",  # no replica on it
            3: "1* 2 isr 1",  # led, no other replica in sync
            4: "2* 1 isr 2",  # already out of the ISR
            5: "1 2 isr 1 2",  # no leader: the ISR stays
        }
    }
    context = make_context(2, 3, topics=topics)
    changes = take_replicas_offline(context, {1}, context.partitions(), never)
    assert {each.partition.partition: state_text(each.state) for each in changes} == {
        0: "2/8/4 isr 2 3",
        1: "2/8/4 isr 2 3",
        3: "-1/8/4 isr 1",
    }
    assert {each.state.controller_epoch for each in changes} == {EPOCH}


def test_brokers_lost_together_are_one_change_each() -> None:
    context = make_context(3, topics={"t": {0: "1* 2 3", 1: "2* 1 isr 2 1", 2: "3* 1 2"}})
    changes = take_replicas_offline(context, {1, 2}, context.partitions(), never)
    assert {each.partition.partition: state_text(each.state) for each in changes} == {
        0: "3/8/4 isr 3",
        # No replica can lead. Both members have all acknowledged records, so both stay in the ISR.
        1: "-1/8/4 isr 2 1",
        2: "3/8/4 isr 3",
    }


def test_unclean_only_where_it_is_allowed() -> None:
    context = make_context(2, topics={"t": {0: "1* 2 isr 1"}})
    [change] = take_replicas_offline(context, {1}, [tp(0)], always)
    assert state_text(change.state) == "2/8/4 isr 2"
    assert change.state.recovery == 1


def test_bringing_online() -> None:
    topics = {"t": {0: "1 2 isr 1 2", 1: "1 isr new", 2: "2* 1", 3: "1* 3 isr 1", 4: "3 isr 3"}}
    context = make_context(2, 3, topics=topics)
    created, changed = bring_online(context, context.partitions(), never)
    assert created == []
    assert {each.partition.partition: state_text(each.state) for each in changed} == {
        0: "2/8/4 isr 2",
        4: "3/8/4 isr 3",
    }
    created, changed = bring_online(make_context(1, topics=topics), [tp(1), tp(3)], never)
    assert {each.partition.partition: state_text(each.state) for each in created} == {1: "1/0/0 isr 1"}
    assert changed == []


def test_who_is_offline() -> None:
    context = make_context(1, topics={"t": {0: "1*", 1: "2*", 2: "1"}}, offline_replicas={1: frozenset({tp(3)})})
    assert has_live_leader(context, tp(0))
    assert is_offline(context, tp(1))
    assert is_offline(context, tp(2))
    assert is_offline(context, tp(9))
