"""A client that fetches in a follower's name, on client listeners, commits nothing: acks=all is not acknowledged while
no replica has the record (with and without an authorizer, brokers accept replicas' requests only on the brokers'
listener)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.wire import Wire, dial

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("F15")]

TOPIC = "not-acknowledged"
LEADER, FOLLOWER = 1, 2


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    """Brokers 1 and 2; broker 1 leads the topic, both are in sync, and acks=all requires both."""
    folder: Path = tmp_path_factory.mktemp("posing")
    with ProcessCluster(folder, 2, overrides={"controlled.shutdown.enable": "false"}) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap()})
        topic = NewTopic(TOPIC, 1, replica_assignment=[[LEADER, FOLLOWER]], config={"min.insync.replicas": "2"})
        admin.create_topics([topic], operation_timeout=30)[TOPIC].result(60)
        # The request may have been answered before the leader knows the topic; a client's producer waits for that.
        producer = Producer({"bootstrap.servers": running.bootstrap(), "acks": "all"})
        producer.produce(TOPIC, b"acknowledged")
        assert producer.flush(60) == 0
        yield running


def produced(wire: Wire, timeout_ms: int) -> bytes:
    """A framed Produce request with acks=all and one record."""
    records = encode_batch([Record(timestamp=1, key=None, value=b"whose?")])
    data = ProduceRequest.PartitionProduceData(index=0, records=records)
    body = ProduceRequest(
        acks=-1,
        timeout_ms=timeout_ms,
        topic_data=[ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])],
    )
    return wire.request(ApiKey.PRODUCE, 9, body.encode(9))


def pose(wire: Wire, version: int, offset: int) -> int:
    """Fetches in the follower's name, as if it had everything below `offset`; the partition's error code."""
    wanted = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    body = FetchRequest(max_wait_ms=0, topics=[FetchRequest.FetchTopic(topic=TOPIC, partitions=[wanted])])
    if version >= 15:
        body.replica_state = FetchRequest.ReplicaState(replica_id=FOLLOWER)
        body.topics[0].topic_id = topic_id(wire)
    else:
        body.replica_id = FOLLOWER
    answer = wire.ask(ApiKey.FETCH, version, body)
    return int(answer.responses[0].partitions[0].error_code)


def topic_id(wire: Wire) -> bytes:
    asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=TOPIC)])
    return bytes(wire.ask(ApiKey.METADATA, 12, asked).topics[0].topic_id)


@pytest.mark.parametrize("version", [11, 17])
def test_nothing_is_acknowledged_in_the_name_of_a_follower_that_stands_still(
    cluster: ProcessCluster, version: int
) -> None:
    cluster.pause(FOLLOWER)
    try:
        with dial(cluster, LEADER) as producer, dial(cluster, LEADER) as forger:
            producer.send(produced(producer, timeout_ms=3_000))
            errors = {pose(forger, version, offset) for offset in range(5)}
            answer = producer.frame()
            # Version 9: correlation id and tags; array of topics, name, array of partitions; index, then the error
            # code.
            assert answer[4 + 1 + 1 + 1 + len(TOPIC) + 1 + 4 :][:2] == int(Error.REQUEST_TIMED_OUT).to_bytes(2)
            assert errors == {Error.TOPIC_AUTHORIZATION_FAILED}
    finally:
        cluster.resume(FOLLOWER)


def test_end_offsets_of_epochs_are_returned_to_consumers_only(cluster: ProcessCluster) -> None:
    asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=TOPIC, partitions=[asked])
    with dial(cluster, LEADER) as wire:
        for replica_id, error in ((FOLLOWER, Error.TOPIC_AUTHORIZATION_FAILED), (-1, Error.NONE)):
            body = OffsetForLeaderEpochRequest(replica_id=replica_id, topics=[topic])
            answer = wire.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, body)
            assert answer.topics[0].partitions[0].error_code == error
