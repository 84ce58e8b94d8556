"""Queries of decisions on the context."""

from __future__ import annotations

from dataclasses import replace

from signalbox.controller.context import collision_name
from tests.controller.contexts import make_context, tp

CONTEXT = make_context(
    1, 2,
    topics={"t": {0: "1* 2", 1: "2 isr new"}, "going": {0: "1*"}},
    deleting={"going": frozenset()},
    shutting_down=frozenset({2}),
    offline_replicas={1: frozenset({tp(0)})},
    configs={
        "topics/t": {"unclean.leader.election.enable": "TRUE"},
        "brokers/<default>": {"unclean.leader.election.enable": "false"},
    },
)  # fmt: skip


def test_replicas() -> None:
    assert CONTEXT.replicas(tp(0)) == (1, 2)
    assert CONTEXT.replicas(tp(9)) == CONTEXT.replicas(tp(0, "none")) == ()
    assert CONTEXT.state(tp(1)) is CONTEXT.state(tp(0, "none")) is None
    assert not CONTEXT.is_replica_reachable(1, tp(0)), "its directory failed"
    assert CONTEXT.is_replica_reachable(1, tp(1))
    assert CONTEXT.is_replica_reachable(2, tp(0))
    assert not CONTEXT.is_replica_online(2, tp(0)), "it is shutting down"
    assert not CONTEXT.is_replica_reachable(3, tp(0))


def test_topics_on_their_way_out_do_not_count() -> None:
    assert list(CONTEXT.partitions()) == [tp(0), tp(1)]
    assert CONTEXT.partitions_on(1) == [tp(0)]
    assert CONTEXT.partitions_on(2) == [tp(0), tp(1)]
    assert CONTEXT.usable_topic("going") is None
    assert CONTEXT.usable_topic("t") is CONTEXT.topics["t"]


def test_unclean_elections_by_topic_then_by_broker_then_by_all_brokers_then_by_default() -> None:
    assert CONTEXT.allows_unclean_election("t", False)
    assert not CONTEXT.allows_unclean_election("u", True)
    assert make_context().allows_unclean_election("u", True)
    own = {"brokers/9": {"unclean.leader.election.enable": "true"}, **CONTEXT.configs}
    assert replace(CONTEXT, controller_id=9, configs=own).allows_unclean_election("u", False)


def test_collision_names() -> None:
    assert collision_name("a.b_c") == "a_b_c"
