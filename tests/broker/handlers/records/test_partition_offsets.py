"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords: required rights at the leader."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.records.partition_offsets import (
    DeleteRecordsHandler,
    ListOffsetsHandler,
    OffsetForLeaderEpochHandler,
)
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_records import DeleteRecordsRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import ALLOW_ALL, acl, context, from_broker, request_of
from tests.broker.handlers.running_broker import RunningBroker

pytestmark = pytest.mark.spec("D1")

NOT_AUTHORIZED = acl(("alice", "READ", "somewhere else"))


def list_offsets(running_broker: RunningBroker, version: int, authorizer: Any, partition: int = 0) -> int:
    asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=-1)
    topic = ListOffsetsRequest.ListOffsetsTopic(name="o-1", partitions=[asked])
    handler = ListOffsetsHandler(running_broker.components.data.replicas, authorizer)
    response = running_broker.answer(handler, request_of(ListOffsetsRequest(replica_id=-1, topics=[topic]), version))
    return int(response.topics[0].partitions[0].error_code)


def leader_epoch(
    running_broker: RunningBroker,
    version: int,
    authorizer: Any,
    replica_id: int = -2,
    who: RequestContext | None = None,
) -> int:
    asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic="o-1", partitions=[asked])
    handler = OffsetForLeaderEpochHandler(running_broker.components.data.replicas, authorizer, {"FORMER"})
    body = OffsetForLeaderEpochRequest(replica_id=replica_id, topics=[topic])
    response = running_broker.answer(handler, request_of(body, version, who))
    return int(response.topics[0].partitions[0].error_code)


def delete_records(running_broker: RunningBroker, version: int, authorizer: Any, offset: int = 0) -> int:
    asked = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=offset)
    topic = DeleteRecordsRequest.DeleteRecordsTopic(name="o-1", partitions=[asked])
    handler = DeleteRecordsHandler(running_broker.components.data.replicas, authorizer)
    body = DeleteRecordsRequest(topics=[topic], timeout_ms=1000)
    return int(running_broker.answer(handler, request_of(body, version)).topics[0].partitions[0].error_code)


@pytest.mark.parametrize("version", range(1, 12))
def test_list_offsets(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("o-1")
    assert list_offsets(running_broker, version, acl(("alice", "DESCRIBE", "o-1"))) == 0
    assert list_offsets(running_broker, version, NOT_AUTHORIZED) == Error.TOPIC_AUTHORIZATION_FAILED
    assert list_offsets(running_broker, version, ALLOW_ALL, partition=9) == Error.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("version", [2, 3, 4])
def test_offset_for_leader_epoch(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("o-1")
    assert leader_epoch(running_broker, version, acl(("alice", "DESCRIBE", "o-1"))) == 0
    assert leader_epoch(running_broker, version, acl(("alice", "CLUSTER_ACTION", "cluster"))) == 0
    assert leader_epoch(running_broker, version, NOT_AUTHORIZED) == Error.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.spec("F15")
@pytest.mark.parametrize("version", [3, 4])
def test_offset_for_leader_epoch_with_a_replica_id(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("o-1")
    denied, broker = Error.TOPIC_AUTHORIZATION_FAILED, acl(("alice", "CLUSTER_ACTION", "cluster"))
    assert leader_epoch(running_broker, version, ALLOW_ALL, 2) == denied
    assert leader_epoch(running_broker, version, broker, 2) == denied
    assert leader_epoch(running_broker, version, acl(("alice", "DESCRIBE", "o-1")), 2, from_broker()) == denied
    assert leader_epoch(running_broker, version, broker, 2, from_broker()) == 0
    assert leader_epoch(running_broker, version, broker, 2, context(listener="FORMER")) == 0
    assert leader_epoch(running_broker, version, ALLOW_ALL, 2, context(listener="FORMER")) == denied
    assert leader_epoch(running_broker, version, ALLOW_ALL, -1) == 0  # a consumer's request


@pytest.mark.parametrize("version", [0, 1, 2])
def test_delete_records(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("o-1")
    assert delete_records(running_broker, version, acl(("alice", "DELETE", "o-1"))) == 0
    assert delete_records(running_broker, version, acl(("alice", "WRITE", "o-1"))) == Error.TOPIC_AUTHORIZATION_FAILED
    assert delete_records(running_broker, version, ALLOW_ALL, offset=99) == Error.OFFSET_OUT_OF_RANGE
