"""Control requests: their targets, order and content (SPEC C2, L9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from signalbox.controller.context import ReplicaOfTopic
from signalbox.controller.control_requests.control_batch import PARTITIONS_PER_REQUEST, ControlBatch
from signalbox.controller.decision import (
    BrokersAnnounced,
    Effect,
    LeadersAnnounced,
    MetadataAnnounced,
    ReplicasStopped,
)
from signalbox.metadata.delta import FULL
from signalbox.protocol import own_tags
from signalbox.protocol.message import Message
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.controller.contexts import EPOCH, make_context, topic_id, tp

CONTEXT = make_context(1, 2, 3, topics={"t": {0: "1* 2 9 isr 1 2", 1: "3* 2"}, "u": {0: "2*"}})


def requests(*effects: Effect, context: Any = CONTEXT) -> list[tuple[int, Message]]:
    batch = ControlBatch()
    batch.add(context, effects)
    return list(batch.requests(context, "REPLICATION"))


def summary(sent: list[tuple[int, Message]]) -> list[tuple[int, str]]:
    return [(broker_id, type(request).__name__.removesuffix("Request")) for broker_id, request in sent]


def test_leaders_to_their_replicas_and_metadata_to_all_brokers() -> None:
    sent = requests(LeadersAnnounced((tp(0),), is_new=True))
    assert summary(sent) == [
        (1, "LeaderAndIsr"), (2, "LeaderAndIsr"),
        (1, "UpdateMetadata"), (2, "UpdateMetadata"), (3, "UpdateMetadata"),
    ]  # fmt: skip
    leaders = sent[0][1]
    assert isinstance(leaders, LeaderAndIsrRequest)
    assert (leaders.controller_id, leaders.controller_epoch, leaders.broker_epoch) == (1, EPOCH, 100)
    [topic] = leaders.topic_states
    assert (topic.topic_name, topic.topic_id) == ("t", topic_id("t"))
    [state] = topic.partition_states
    assert (state.leader, state.leader_epoch, state.partition_epoch, state.isr, state.replicas, state.is_new) == (
        1, 7, 3, [1, 2], [1, 2, 9], True,
    )  # fmt: skip
    [leader] = leaders.live_leaders
    assert (leader.broker_id, leader.host_name, leader.port) == (1, "host1", 9101)


def test_metadata_has_every_endpoint_and_the_offline_replicas() -> None:
    update = requests(MetadataAnnounced((tp(0),)))[1][1]
    assert isinstance(update, UpdateMetadataRequest)
    assert (update.broker_epoch, update.controller_id) == (200, 1)
    [state] = update.topic_states[0].partition_states
    assert (state.zk_version, state.offline_replicas, state.leader) == (3, [9], 1)
    first = update.live_brokers[0]
    assert [(each.listener, each.port) for each in first.endpoints] == [
        ("CLIENT", 9001),
        ("REPLICATION", 9101),
        ("CONTROL", 9201),
    ]
    assert [each.id for each in update.live_brokers] == [1, 2, 3]


def test_brokers_come_before_leaders() -> None:
    sent = requests(LeadersAnnounced((tp(1),)), BrokersAnnounced((2,)))
    assert summary(sent) == [
        (1, "UpdateMetadata"), (2, "UpdateMetadata"), (3, "UpdateMetadata"),
        (3, "LeaderAndIsr"), (2, "LeaderAndIsr"),
        (1, "UpdateMetadata"), (2, "UpdateMetadata"), (3, "UpdateMetadata"),
    ]  # fmt: skip
    updates = {broker_id: request for broker_id, request in sent[:3] if isinstance(request, UpdateMetadataRequest)}
    assert (updates[1].topic_states, updates[3].topic_states) == ([], [])
    assert sum(len(topic.partition_states) for topic in updates[2].topic_states) == 3


def test_brokers_only() -> None:
    assert summary(requests(MetadataAnnounced())) == [(each, "UpdateMetadata") for each in (1, 2, 3)]
    assert len(requests(BrokersAnnounced(), MetadataAnnounced())) == 3


def test_leader_and_isr_goes_to_the_named_brokers_and_update_metadata_to_all() -> None:
    sent = requests(LeadersAnnounced((tp(0), tp(1)), brokers=(2, 9)))
    assert summary(sent) == [(2, "LeaderAndIsr"), *((each, "UpdateMetadata") for each in (1, 2, 3))]


def test_is_new_and_delete_stick() -> None:
    sent = requests(
        LeadersAnnounced((tp(1),), is_new=True),
        LeadersAnnounced((tp(1),)),
        ReplicasStopped(3, (tp(0),), delete=True),
        ReplicasStopped(3, (tp(0), tp(1)), delete=False),
    )
    leaders = next(request for _, request in sent if isinstance(request, LeaderAndIsrRequest))
    assert leaders.topic_states[0].partition_states[0].is_new
    stop = sent[-1][1]
    assert isinstance(stop, StopReplicaRequest)
    assert [
        (each.partition_index, each.leader_epoch, each.delete_partition)
        for each in stop.topic_states[0].partition_states
    ] == [(0, 7, True), (1, 7, False)]


def test_a_replica_that_is_assigned_again_is_not_deleted_and_brokers_without_it_get_no_leader_and_isr() -> None:
    assert requests(ReplicasStopped(2, (tp(0),), delete=True)) == []
    assert summary(requests(ReplicasStopped(2, (tp(0),), delete=False))) == [(2, "StopReplica")]
    other_broker = requests(LeadersAnnounced((tp(0),), brokers=(3,)))
    assert summary(other_broker) == [(each, "UpdateMetadata") for each in (1, 2, 3)]


def test_stop_comes_last() -> None:
    sent = requests(ReplicasStopped(1, (tp(0),), delete=False), LeadersAnnounced((tp(0),)))
    assert summary(sent)[-1] == (1, "StopReplica")


def test_requests_about_many_partitions_are_cut() -> None:
    count = 2 * PARTITIONS_PER_REQUEST + 1
    context = make_context(1, 2, topics={"t": dict.fromkeys(range(count), "1*")})
    everything = tuple(tp(number) for number in range(count))
    sent = requests(LeadersAnnounced(everything), ReplicasStopped(2, everything, delete=True), context=context)
    assert summary(sent) == [
        *[(1, "LeaderAndIsr")] * 3, *[(1, "UpdateMetadata"), (2, "UpdateMetadata")] * 3, *[(2, "StopReplica")] * 3,
    ]  # fmt: skip
    announced = [state.partition_index for to, each in sent if to == 2 for state in _states(each)]
    assert announced == [*range(count), *range(count)]


def test_topics_on_their_way_out() -> None:
    context = make_context(1, topics={"t": {0: "1*"}}, deleting={"t": frozenset({ReplicaOfTopic(0, 1)})})
    effects = (MetadataAnnounced((tp(0),)), ReplicasStopped(1, (tp(0),), delete=True), LeadersAnnounced((tp(0),)))
    (_, update), (_, stop) = requests(*effects, context=context)
    assert isinstance(update, UpdateMetadataRequest)
    assert isinstance(stop, StopReplicaRequest)
    state = update.topic_states[0].partition_states[0]
    assert (state.leader, state.leader_epoch, state.zk_version) == (-2, 0, 0)
    assert stop.topic_states[0].partition_states[0].leader_epoch == -2


def test_partitions_without_a_state_are_not_announced() -> None:
    context = make_context(1, topics={"t": {0: "1 isr new"}})
    assert requests(LeadersAnnounced((tp(0),)), context=context) == [(1, UpdateMetadataRequest(**_head(context)))]
    stop = requests(ReplicasStopped(1, (tp(0),), delete=False), context=context)[0][1]
    assert isinstance(stop, StopReplicaRequest)
    assert stop.topic_states[0].partition_states[0].leader_epoch == -1


def test_dead_brokers_get_no_requests() -> None:
    assert requests(ReplicasStopped(9, (tp(0),), delete=True)) == []
    assert requests() == []


def test_everything_encodes_at_the_versions_of_the_control_plane() -> None:
    versions = {"LeaderAndIsrRequest": 7, "UpdateMetadataRequest": 8, "StopReplicaRequest": 4}
    for _, request in requests(
        BrokersAnnounced((1,)), LeadersAnnounced((tp(0),)), ReplicasStopped(3, (tp(0),), delete=True)
    ):
        version = versions[type(request).__name__]
        assert type(request).decode(request.encode(version), version) == request


def _states(request: Any) -> list[Any]:
    return [state for topic in request.topic_states for state in topic.partition_states]


def _head(context: Any) -> dict[str, Any]:
    [(_, only_brokers)] = requests(MetadataAnnounced(), context=context)
    assert isinstance(only_brokers, UpdateMetadataRequest)
    return {
        "controller_id": 1,
        "controller_epoch": EPOCH,
        "broker_epoch": 100,
        "live_brokers": only_brokers.live_brokers,
    }


def test_new_brokers_and_after_a_failover_all_brokers_get_the_list_of_topics() -> None:
    """Otherwise a broker that was down while a topic was deleted, or that the failed controller did not notify, would
    keep the topic for ever."""

    def updates(*effects: Effect) -> list[tuple[int, dict[str, int]]]:
        sent = [request for _, request in requests(*effects) if isinstance(request, UpdateMetadataRequest)]
        return [
            (request.type, {topic.topic_name: len(topic.partition_states) for topic in request.topic_states})
            for request in sent
        ]

    assert updates(BrokersAnnounced((2,))) == [(0, {}), (FULL, {"t": 2, "u": 1}), (0, {})]
    assert updates(BrokersAnnounced(names_topics=True)) == [(FULL, {"t": 0, "u": 0})] * 3


def test_a_controller_without_a_broker_updates_its_own_cache() -> None:
    def updates(*effects: Effect, context: Any = CONTEXT) -> list[Any]:
        batch = ControlBatch()
        batch.add(context, effects)
        return list(batch.local_requests(context))

    brokers, leaders = updates(BrokersAnnounced((3,)), LeadersAnnounced((tp(0),)))
    assert (brokers.topic_states, len(brokers.live_brokers)) == ([], 3)
    assert [state.topic_name for state in leaders.topic_states] == ["t"]
    assert (leaders.controller_epoch, leaders.broker_epoch) == (EPOCH, -1)
    assert updates(ReplicasStopped(2, (tp(0),), delete=True)) == []
    alone = make_context(topics={"t": {0: "1* 2"}})
    assert [len(each.live_brokers) for each in updates(MetadataAnnounced(()), context=alone)] == [0]


@pytest.mark.spec("D3")
def test_elections_that_wait_are_known_whatever_took_the_leader() -> None:
    """Also when the last leader fails that was registered when the other brokers came back."""
    context = make_context(1, topics={"t": {0: "1 2 isr 1 2", 1: "1* 2 isr 1 2", 2: "2 1 isr 2"}})
    topic = context.topics["t"]
    marked = {index: replace(state, unverified=(1,)) for index, state in topic.states.items() if index < 2}
    context = replace(context, topics={"t": replace(topic, states={**topic.states, **marked})})
    batch = ControlBatch()
    batch.add(context, [LeadersAnnounced((tp(0), tp(1), tp(2)))])
    assert batch.awaited == {tp(0): 7}
    sent = batch.requests(context, "REPLICATION")
    [update] = [request for _, request in sent if isinstance(request, UpdateMetadataRequest)]
    reasons = {each.partition_index: own_tags.offline_reason(each) for each in update.topic_states[0].partition_states}
    assert reasons[0].startswith("broker 1 came back after an unclean shutdown and waits for broker 2:")
    assert reasons[1] == ""
    assert reasons[2].startswith("no in-sync replica is alive (ISR 2)")


@pytest.mark.spec("D3")
def test_an_unverified_member_follows_when_the_leader_has_responded() -> None:
    """Before that the leader may be dead: the member would create an empty log, or truncate its own, for nothing."""

    def partitions_sent(unverified: tuple[int, ...]) -> dict[int, list[int]]:
        context = make_context(1, 2, topics={"t": {0: "1 2* isr 1 2", 1: "1* 2 isr 1 2", 2: "1 2 isr 1 2"}})
        topic = context.topics["t"]
        states = {index: replace(state, unverified=unverified) for index, state in topic.states.items()}
        context = replace(context, topics={"t": replace(topic, states=states)})
        sent = requests(LeadersAnnounced((tp(0), tp(1), tp(2))), context=context)
        return {
            broker_id: [each.partition_index for topic in request.topic_states for each in topic.partition_states]
            for broker_id, request in sent
            if isinstance(request, LeaderAndIsrRequest)
        }

    assert partitions_sent(unverified=(1,)) == {1: [1, 2], 2: [0, 1, 2]}, "partition 2 has no leader: logs are compared"
    assert partitions_sent(unverified=()) == {1: [0, 1, 2], 2: [0, 1, 2]}


@pytest.mark.spec("D3")
def test_leader_and_isr_has_the_epoch_of_the_last_unclean_election() -> None:
    topic = CONTEXT.topics["t"]
    after = replace(topic, states={**topic.states, 0: replace(topic.states[0], unclean_epoch=6)})
    context = replace(CONTEXT, topics={**CONTEXT.topics, "t": after})
    leaders = requests(LeadersAnnounced((tp(0), tp(1))), context=context)[0][1]
    assert isinstance(leaders, LeaderAndIsrRequest)
    assert own_tags.unclean_epoch(leaders.topic_states[0].partition_states[0]) == 6
