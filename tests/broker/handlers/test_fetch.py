"""Fetch on a real leader: who may read, and where a new leader is on the listener of the request."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.fetch import FetchHandler
from signalbox.broker.handlers.produce import ProduceHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import decode_records
from tests.broker.asking import ALLOW_ALL, acl, context, request_of
from tests.broker.handlers.house import House, batch


@pytest.fixture(scope="module")
def filled(house: House) -> str:
    """A topic with one record."""
    house.create_topic("f-1")
    data = ProduceRequest.PartitionProduceData(index=0, records=batch(b"hello"))
    topic = ProduceRequest.TopicProduceData(name="f-1", partition_data=[data])
    request = request_of(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
    for partition in request.body.topic_data[0].partition_data:
        partition.records = memoryview(bytearray(partition.records))
    house.answer(ProduceHandler(house.parts.data.replicas, house.parts.cache, ALLOW_ALL), request)
    return "f-1"


def ask(
    house: House,
    topic: str,
    version: int,
    partition: int = 0,
    offset: int = 0,
    authorizer: Any = ALLOW_ALL,
    **more: Any,
) -> Any:
    handler = FetchHandler(house.parts.data.replicas, house.parts.cache, authorizer)
    wanted = FetchRequest.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    if version >= 13:
        asked = FetchRequest.FetchTopic(topic_id=house.topic_id(topic), partitions=[wanted])
    else:
        asked = FetchRequest.FetchTopic(topic=topic, partitions=[wanted])
    fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, **more}
    return house.answer(handler, request_of(FetchRequest(topics=[asked], **fields), version, context()))


@pytest.mark.parametrize("version", range(4, 19))
def test_the_record_comes_back(house: House, filled: str, version: int) -> None:
    [topic] = ask(house, filled, version).responses
    [partition] = topic.partitions
    assert (partition.error_code, partition.high_watermark) == (0, 1)
    [record] = decode_records(bytes(partition.records))
    assert bytes(record.value or b"") == b"hello"


@pytest.mark.parametrize("version", [4, 12, 13, 18])
def test_what_may_not_be_read_gives_nothing(house: House, filled: str, version: int) -> None:
    authorizer = acl(("alice", "WRITE", filled))
    [partition] = ask(house, filled, version, authorizer=authorizer).responses[0].partitions
    assert (partition.error_code, bytes(partition.records or b"")) == (Error.TOPIC_AUTHORIZATION_FAILED, b"")


@pytest.mark.parametrize(("version", "replica"), [(12, {"replica_id": 7}), (17, None)])
def test_a_follower_needs_cluster_action_not_read(house: House, filled: str, version: int, replica: Any) -> None:
    fields = replica or {"replica_state": FetchRequest.ReplicaState(replica_id=7)}
    reader = acl(("alice", "READ", filled))
    [partition] = ask(house, filled, version, authorizer=reader, **fields).responses[0].partitions
    assert partition.error_code == Error.TOPIC_AUTHORIZATION_FAILED
    broker = acl(("alice", "CLUSTER_ACTION", "cluster"))
    [partition] = ask(house, filled, version, authorizer=broker, **fields).responses[0].partitions
    assert partition.error_code != Error.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("partition", "offset", "error"),
    [
        (9, 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (-1, 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (0, 99, Error.OFFSET_OUT_OF_RANGE),
        (0, -5, Error.OFFSET_OUT_OF_RANGE),
    ],
)
def test_places_that_are_none(house: House, filled: str, partition: int, offset: int, error: Error) -> None:
    for version in (4, 11, 13, 18):
        answer = ask(house, filled, version, partition, offset)
        assert [p.error_code for p in answer.responses[0].partitions] == [error]
        assert answer.node_endpoints == []


@pytest.mark.parametrize("topic_id", [b"\7" * 16, bytes(16)])
@pytest.mark.parametrize("version", [12, 13, 18])
def test_an_unknown_id(house: House, version: int, topic_id: bytes) -> None:
    handler = FetchHandler(house.parts.data.replicas, house.parts.cache, ALLOW_ALL)
    topic = FetchRequest.FetchTopic(topic_id=topic_id, partitions=[FetchRequest.FetchPartition()])
    answer = house.answer(handler, request_of(FetchRequest(topics=[topic]), version))
    error = Error.UNKNOWN_TOPIC_ID if version >= 13 else Error.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.responses[0].partitions[0].error_code == error
