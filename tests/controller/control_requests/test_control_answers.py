"""Responses of brokers that lead to a decision of the controller."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signalbox.controller.context import ControllerContext, LogEnd, ReplicaOfTopic
from signalbox.controller.control_requests.control_answers import follow_ups
from signalbox.controller.records import (
    LogEndsReported,
    PartitionStateChanged,
    Record,
    ReplicasDeleted,
    ReplicasOffline,
)
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context, topic_id, tp

CONTEXT = make_context(1, 2, topics={"t": {0: "1* 2", 1: "2* 1"}})


def leader_and_isr(**errors: Error) -> LeaderAndIsrResponse:
    made = [
        LeaderAndIsrResponse.LeaderAndIsrPartitionError(partition_index=int(name[1:]), error_code=error)
        for name, error in errors.items()
    ]
    known = LeaderAndIsrResponse.LeaderAndIsrTopicError(topic_id=topic_id("t"), partition_errors=made)
    unknown = LeaderAndIsrResponse.LeaderAndIsrTopicError(topic_id=b"?" * 16, partition_errors=made)
    return LeaderAndIsrResponse(topics=[known, unknown])


def stop_request(*partitions: tuple[int, bool]) -> StopReplicaRequest:
    made = [
        StopReplicaRequest.StopReplicaPartitionState(partition_index=number, delete_partition=delete)
        for number, delete in partitions
    ]
    return StopReplicaRequest(
        topic_states=[StopReplicaRequest.StopReplicaTopicState(topic_name="t", partition_states=made)]
    )


def records(context: ControllerContext, request: Message, response: Message) -> list[Record]:
    found = follow_ups(context, 1, request, response)
    return [record for follow in found for record in follow(context, inputs()).records]


def test_failed_directories() -> None:
    response = leader_and_isr(p0=Error.KAFKA_STORAGE_ERROR, p1=Error.NONE)
    assert records(CONTEXT, LeaderAndIsrRequest(), response)[0] == ReplicasOffline(1, frozenset({tp(0)}))


def test_directories_that_work_again() -> None:
    context = make_context(1, 2, topics={"t": {0: "1* 2"}}, offline_replicas={1: frozenset({tp(0)})})
    response = leader_and_isr(p0=Error.NONE)
    assert records(context, LeaderAndIsrRequest(), response) == [ReplicasOffline(1, frozenset(), frozenset({tp(0)}))]


def test_ordinary_answers_mean_nothing() -> None:
    assert records(CONTEXT, LeaderAndIsrRequest(), leader_and_isr(p0=Error.NONE)) == []
    assert records(CONTEXT, LeaderAndIsrRequest(), leader_and_isr(p0=Error.STALE_CONTROLLER_EPOCH)) == []
    assert records(CONTEXT, UpdateMetadataRequest(), UpdateMetadataResponse()) == []
    assert records(CONTEXT, stop_request((0, False)), StopReplicaResponse()) == []


def test_top_level_errors_are_only_logged() -> None:
    stale = LeaderAndIsrResponse(error_code=Error.STALE_BROKER_EPOCH, topics=leader_and_isr(p0=Error.NONE).topics)
    assert records(CONTEXT, LeaderAndIsrRequest(), stale) == []
    assert records(CONTEXT, stop_request((0, True)), StopReplicaResponse(error_code=Error.STALE_CONTROLLER_EPOCH)) == []


def test_finished_deletions() -> None:
    everything = frozenset({ReplicaOfTopic(0, 1), ReplicaOfTopic(1, 1), ReplicaOfTopic(0, 2)})
    context = make_context(1, 2, topics={"t": {0: "1* 2", 1: "1*"}}, deleting={"t": everything})
    failed = StopReplicaResponse.StopReplicaPartitionError(
        topic_name="t", partition_index=1, error_code=Error.KAFKA_STORAGE_ERROR
    )
    request = stop_request((0, True), (1, True))
    assert records(context, request, StopReplicaResponse(partition_errors=[failed])) == [
        ReplicasDeleted("t", frozenset({ReplicaOfTopic(0, 1)}))
    ]
    assert records(context, request, StopReplicaResponse()) == [
        ReplicasDeleted("t", frozenset({ReplicaOfTopic(0, 1), ReplicaOfTopic(1, 1)}))
    ]


@pytest.mark.spec("D3")
def test_the_ends_of_logs_of_partitions_without_a_leader() -> None:
    context = make_context(1, topics={"t": {0: "1 2"}})
    response = leader_and_isr(p0=Error.STALE_CONTROLLER_EPOCH)
    own_tags.put_log_end(response.topics[0].partition_errors[0], 4, 100)
    request = LeaderAndIsrRequest(broker_epoch=100)
    assert records(context, request, response)[0] == LogEndsReported(1, {tp(0): LogEnd(4, 100)})
    # A response for an older broker epoch is ignored.
    assert records(context, LeaderAndIsrRequest(broker_epoch=99), response) == []


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("error", "lives"),
    [(Error.NONE, True), (Error.STALE_CONTROLLER_EPOCH, True), (Error.UNKNOWN_TOPIC_OR_PARTITION, False)],
)
def test_a_leader_that_answers_lives(error: Error, lives: bool) -> None:
    context = make_context(1, 2, topics={"t": {0: "1* 2"}})
    topic = context.topics["t"]
    marked = replace(topic, states={0: replace(topic.states[0], unverified=(2,))})
    found = records(
        replace(context, topics={"t": marked}), LeaderAndIsrRequest(broker_epoch=100), leader_and_isr(p0=error)
    )
    shrunk = [(each.state.isr, each.state.unverified) for each in found if isinstance(each, PartitionStateChanged)]
    assert shrunk == ([((1,), ())] if lives else [])
