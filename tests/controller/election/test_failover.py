"""A new controller elects missing leaders, and sends the state of the cluster to all brokers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signalbox.common.ids import ZERO_UUID
from signalbox.controller.context import ReplicaOfTopic
from signalbox.controller.decision import BrokersAnnounced, LeadersAnnounced, MetadataAnnounced, ReplicasStopped
from signalbox.controller.election.failover import take_over
from signalbox.controller.records import TopicDeletionRejected
from signalbox.controller.replay import preview
from signalbox.metadata.entries.feature_levels import FinalizedFeatures
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context, states, topic_id, tp


def test_everything_without_a_living_leader_is_elected() -> None:
    topics = {
        "t": {
            0: "1* 2 3",  # broker 1 failed with the old controller
            1: "2* 1 3",  # broker 1 was in this ISR too
            2: "2* 3",
            3: "1 2 isr 1",  # waits for broker 1
            4: "3 isr new",
        },
        "going": {0: "2* 1"},
    }
    context = make_context(
        2, 3, topics=topics, deleting={"going": frozenset({ReplicaOfTopic(0, 2)}), "unknown": frozenset()}
    )
    decision = take_over(context, inputs())
    assert states(decision) == {
        "t-0": "2/8/4 isr 2 3",
        "t-1": "2/8/4 isr 2 3",
        "t-4": "3/0/0 isr 3",
    }
    assert TopicDeletionRejected("unknown") in decision.records
    assert decision.effects == (
        BrokersAnnounced(names_topics=True),
        LeadersAnnounced(tuple(tp(number) for number in range(5))),
        MetadataAnnounced((tp(0, "going"),)),
        LeadersAnnounced((tp(4),), is_new=True),
        ReplicasStopped(2, (tp(0, "going"),), delete=True),
    )


def test_a_quiet_takeover_changes_nothing_and_tells_everything() -> None:
    features = FinalizedFeatures({}, 0, True)
    decision = take_over(make_context(1, 2, topics={"t": {0: "1* 2"}}, features=features), inputs())
    assert decision.records == ()
    assert LeadersAnnounced((tp(0),)) in decision.effects


@pytest.mark.spec("M2")
def test_topics_without_an_id_get_one() -> None:
    """Apache Kafka below inter.broker.protocol.version 2.8 created them."""
    context = make_context(1, 2, topics={"old": {0: "1* 2 adding 2"}, "new": {0: "1* 2"}})
    old = context.topics["old"]
    nameless = replace(old, assignment=replace(old.assignment, topic_id=ZERO_UUID))
    names = {topic_id("new"): "new"}
    context = replace(context, topics={**context.topics, "old": nameless}, topic_names=names)
    after = preview(context, take_over(context, inputs()).records)
    given = after.topics["old"].topic_id
    assert given != ZERO_UUID
    assert after.topic_names == {given: "old", **names}
    assert replace(after.topics["old"].assignment, topic_id=old.topic_id).replicas == old.assignment.replicas
