"""Fetch on a real leader: required rights, and the new leader's endpoint on the listener of the request."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.client_quotas import NO_THROTTLING
from signalbox.broker.handlers.records.fetch import FetchHandler
from signalbox.broker.handlers.records.produce import ProduceHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import decode_records
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import ALLOW_ALL, acl, context, from_broker, request_of
from tests.broker.handlers.running_broker import RunningBroker, batch

pytestmark = pytest.mark.spec("D1")


@pytest.fixture(scope="module")
def filled(running_broker: RunningBroker) -> str:
    """A topic with one record."""
    running_broker.create_topic("f-1")
    data = ProduceRequest.PartitionProduceData(index=0, records=batch(b"hello"))
    topic = ProduceRequest.TopicProduceData(name="f-1", partition_data=[data])
    request = request_of(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
    for partition in request.body.topic_data[0].partition_data:
        partition.records = memoryview(bytearray(partition.records))
    running_broker.answer(
        ProduceHandler(running_broker.components.data.replicas, running_broker.components.cache, ALLOW_ALL), request
    )
    return "f-1"


def ask(
    running_broker: RunningBroker,
    topic: str,
    version: int,
    partition: int = 0,
    offset: int = 0,
    authorizer: Any = ALLOW_ALL,
    who: RequestContext | None = None,
    **more: Any,
) -> Any:
    replicas, cache = running_broker.components.data.replicas, running_broker.components.cache
    handler = FetchHandler(replicas.fetches, cache, authorizer, NO_THROTTLING, {"FORMER"})
    wanted = FetchRequest.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    if version >= 13:
        asked = FetchRequest.FetchTopic(topic_id=running_broker.topic_id(topic), partitions=[wanted])
    else:
        asked = FetchRequest.FetchTopic(topic=topic, partitions=[wanted])
    fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, **more}
    request = request_of(FetchRequest(topics=[asked], **fields), version, who)
    response = running_broker.answer(handler, request)
    denied = Error.TOPIC_AUTHORIZATION_FAILED in {row.error_code for row in response.responses[0].partitions}
    is_replica = more.get("replica_id", -1) >= 0 or "replica_state" in more
    assert request.replicates is (is_replica and not denied), "the class of its connection in the data loop"
    return response


@pytest.mark.parametrize("version", range(4, 19))
def test_the_record_comes_back(running_broker: RunningBroker, filled: str, version: int) -> None:
    [topic] = ask(running_broker, filled, version).responses
    [partition] = topic.partitions
    assert (partition.error_code, partition.high_watermark) == (0, 1)
    [record] = decode_records(bytes(partition.records))
    assert bytes(record.value or b"") == b"hello"


@pytest.mark.parametrize("version", [4, 12, 13, 18])
def test_what_may_not_be_read_gives_nothing(running_broker: RunningBroker, filled: str, version: int) -> None:
    authorizer = acl(("alice", "WRITE", filled))
    [partition] = ask(running_broker, filled, version, authorizer=authorizer).responses[0].partitions
    assert (partition.error_code, bytes(partition.records or b"")) == (Error.TOPIC_AUTHORIZATION_FAILED, b"")


AS_REPLICA = [(version, {"replica_id": 7}) for version in (4, 12, 14)] + [
    (version, {"replica_state": FetchRequest.ReplicaState(replica_id=7)}) for version in (15, 18)
]


@pytest.mark.parametrize(("version", "replica"), AS_REPLICA)
def test_a_follower_needs_cluster_action_not_read(
    running_broker: RunningBroker, filled: str, version: int, replica: Any
) -> None:
    reader, broker = acl(("alice", "READ", filled)), acl(("alice", "CLUSTER_ACTION", "cluster"))
    response = ask(running_broker, filled, version, authorizer=reader, who=from_broker(), **replica)
    [partition] = response.responses[0].partitions
    assert partition.error_code == Error.TOPIC_AUTHORIZATION_FAILED
    [partition] = (
        ask(running_broker, filled, version, authorizer=broker, who=from_broker(), **replica).responses[0].partitions
    )
    assert partition.error_code != Error.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.spec("F15")
@pytest.mark.parametrize("authorizer", [ALLOW_ALL, acl(("alice", "CLUSTER_ACTION", "cluster"))])
@pytest.mark.parametrize(("version", "replica"), AS_REPLICA)
def test_a_client_cannot_fetch_as_a_replica(
    running_broker: RunningBroker, filled: str, version: int, replica: Any, authorizer: Any
) -> None:
    response = ask(running_broker, filled, version, authorizer=authorizer, **replica)
    [partition] = response.responses[0].partitions
    assert (response.error_code, partition.error_code) == (0, Error.TOPIC_AUTHORIZATION_FAILED)
    assert not partition.records


@pytest.mark.spec("L12")
@pytest.mark.parametrize(("version", "replica"), AS_REPLICA)
def test_where_a_broker_still_speaks_its_login_counts(
    running_broker: RunningBroker, filled: str, version: int, replica: Any
) -> None:
    who, broker = context(listener="FORMER"), acl(("alice", "CLUSTER_ACTION", "cluster"))
    [partition] = ask(running_broker, filled, version, authorizer=broker, who=who, **replica).responses[0].partitions
    assert partition.error_code != Error.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("version", [4, 11])
def test_ids_of_consumers_read_like_any_client(running_broker: RunningBroker, filled: str, version: int) -> None:
    for replica_id in (-1, -2):
        [partition] = ask(running_broker, filled, version, replica_id=replica_id).responses[0].partitions
        assert (partition.error_code, partition.high_watermark) == (0, 1)


@pytest.mark.parametrize(
    ("partition", "offset", "error"),
    [
        (9, 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (-1, 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (0, 99, Error.OFFSET_OUT_OF_RANGE),
        (0, -5, Error.OFFSET_OUT_OF_RANGE),
    ],
)
def test_places_that_are_none(
    running_broker: RunningBroker, filled: str, partition: int, offset: int, error: Error
) -> None:
    for version in (4, 11, 13, 18):
        response = ask(running_broker, filled, version, partition, offset)
        assert [p.error_code for p in response.responses[0].partitions] == [error]
        assert response.node_endpoints == []


@pytest.mark.parametrize("topic_id", [b"\7" * 16, bytes(16)])
@pytest.mark.parametrize("version", [12, 13, 18])
def test_an_unknown_id(running_broker: RunningBroker, version: int, topic_id: bytes) -> None:
    handler = FetchHandler(
        running_broker.components.data.replicas.fetches, running_broker.components.cache, ALLOW_ALL, NO_THROTTLING
    )
    topic = FetchRequest.FetchTopic(topic_id=topic_id, partitions=[FetchRequest.FetchPartition()])
    response = running_broker.answer(handler, request_of(FetchRequest(topics=[topic]), version))
    error = Error.UNKNOWN_TOPIC_ID if version >= 13 else Error.UNKNOWN_TOPIC_OR_PARTITION
    assert response.responses[0].partitions[0].error_code == error
