"""Invalid record batches, one fault each: Kafka's error is returned, nothing is appended, the connection stays open."""

from __future__ import annotations

import time
from collections.abc import Iterator
from struct import Struct
from typing import Any

import pytest
from confluent_kafka import Message, Producer
from crc32c import crc32c

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from tests.protocol.records.poison import MISNUMBERED, UNREADABLE, batch_of, poisoned, raw_record
from tests.system.clusters import RoutedCluster
from tests.system.conftest import MakeTopic
from tests.system.wire import Wire, dial
from tests.waiting import until

_NOW = int(time.time() * 1000)
_OFFSETS = {"magic": (16, "b"), "crc": (17, "I"), "attributes": (21, "h"), "last_offset_delta": (23, "i"),
            "batch_length": (8, "i"), "base_timestamp": (27, "q"), "max_timestamp": (35, "q"), "producer_id": (43, "q"),
            "producer_epoch": (51, "h"), "base_sequence": (53, "i"), "record_count": (57, "i")}  # fmt: skip


def batch(count: int = 3, **settings: Any) -> bytes:
    return encode_batch([Record(value=b"x" * 20) for _ in range(count)], timestamp_ms=_NOW, **settings)


def changed(data: bytes, *, checked: bool = True, **fields: int) -> bytes:
    """A batch with some header fields overwritten; with `checked`, the checksum is made valid again."""
    copy = bytearray(data)
    for name, value in fields.items():
        position, code = _OFFSETS[name]
        Struct(f">{code}").pack_into(copy, position, value)
    if checked:
        Struct(">I").pack_into(copy, 17, crc32c(copy[21:]))
    return bytes(copy)


_DAY_MS = 86_400_000
_WRONG: dict[str, tuple[bytes, Error]] = {
    "a wrong checksum": (changed(batch(), checked=False, crc=12345), Error.CORRUPT_MESSAGE),
    "a flipped byte": (batch()[:-1] + b"\x7f", Error.CORRUPT_MESSAGE),
    "half a batch": (batch()[:50], Error.CORRUPT_MESSAGE),
    "a batch cut short": (batch()[:-5], Error.CORRUPT_MESSAGE),
    "bytes behind the batch": (batch() + b"tail", Error.CORRUPT_MESSAGE),
    "a negative length": (changed(batch(), batch_length=-1), Error.CORRUPT_MESSAGE),
    "a length of two GB": (changed(batch(), batch_length=2**31 - 1), Error.CORRUPT_MESSAGE),
    "magic 0": (changed(batch(), magic=0), Error.INVALID_RECORD),
    "magic 1": (changed(batch(), magic=1), Error.INVALID_RECORD),
    "magic 3": (changed(batch(), magic=3), Error.CORRUPT_MESSAGE),
    "more records counted than numbered": (changed(batch(), record_count=4), Error.INVALID_RECORD),
    "fewer records counted than numbered": (changed(batch(), record_count=2), Error.INVALID_RECORD),
    "no records counted": (changed(batch(), record_count=0, last_offset_delta=-1), Error.INVALID_RECORD),
    "minus three records": (changed(batch(), record_count=-3, last_offset_delta=-4), Error.INVALID_RECORD),
    "two batches": (batch() + batch(), Error.INVALID_RECORD),
    "nothing": (b"", Error.INVALID_RECORD),
    "a megabyte too many": (encode_batch([Record(value=bytes(2_000_000))], timestamp_ms=_NOW), Error.MESSAGE_TOO_LARGE),
    "a day ahead": (encode_batch([Record(value=b"x")], timestamp_ms=_NOW + _DAY_MS), Error.INVALID_TIMESTAMP),
    **{what: (poisoned(record, _NOW), Error.INVALID_RECORD) for what, record in {**MISNUMBERED, **UNREADABLE}.items()},
    "the last of 200 records misnumbered": (
        batch_of([raw_record(at, offset_delta=0 if at == 199 else at) for at in range(200)], _NOW),
        Error.INVALID_RECORD,
    ),
    "the broker's own time": (changed(batch(), attributes=0x08), Error.INVALID_TIMESTAMP),
    "a control batch": (changed(batch(), attributes=0x20), Error.INVALID_RECORD),
    "a compression that does not exist": (changed(batch(), attributes=6), Error.CORRUPT_MESSAGE),
    "a transaction": (changed(batch(), attributes=0x10), Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    "2147483647 records": (
        changed(batch(1), record_count=2**31 - 1, last_offset_delta=2**31 - 2),
        Error.INVALID_RECORD,
    ),
    "garbage that claims to be gzip": (changed(batch(), attributes=1), Error.CORRUPT_MESSAGE),
    "a producer without a sequence": (changed(batch(), producer_id=5, producer_epoch=0), Error.INVALID_RECORD),
}


class Partition:
    """Partition 0 of a topic; the requests go to its leader over one raw connection."""

    def __init__(self, wire: Wire, topic: str) -> None:
        self.wire = wire
        self.topic = topic

    def produce(self, records: bytes | None, *, acks: int = -1, version: int = 11, **other: Any) -> Any:
        """The partition's part of the response."""
        part = ProduceRequest.PartitionProduceData(index=other.get("index", 0), records=records)
        data = ProduceRequest.TopicProduceData(name=other.get("topic", self.topic), partition_data=[part])
        request = ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=[data])
        return self.wire.ask(ApiKey.PRODUCE, version, request).responses[0].partition_responses[0]

    @property
    def end(self) -> int:
        part = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
        asked = ListOffsetsRequest.ListOffsetsTopic(name=self.topic, partitions=[part])
        answer = self.wire.ask(ApiKey.LIST_OFFSETS, 7, ListOffsetsRequest(replica_id=-1, topics=[asked]))
        return int(answer.topics[0].partitions[0].offset)


def at_leader(cluster: RoutedCluster, topic: str) -> Partition:
    with dial(cluster) as wire:
        named = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
        leader = wire.ask(ApiKey.METADATA, 12, named).topics[0].partitions[0].leader_id
    return Partition(dial(cluster, leader), topic)


def compacted(cluster: RoutedCluster, topic: str) -> Partition:
    """The topic's partition, once its leader has the topic's configs, which may arrive after the topic."""
    found = at_leader(cluster, topic)
    resource = DescribeConfigsRequest.DescribeConfigsResource(resource_type=2, resource_name=topic)
    resource.configuration_keys = ["cleanup.policy"]
    asked = DescribeConfigsRequest(resources=[resource])

    def has_configs() -> bool:
        [row] = found.wire.ask(ApiKey.DESCRIBE_CONFIGS, 4, asked).results[0].configs
        return bool(row.value == "compact")

    until(has_configs, f"the configs of {topic} at its leader")
    return found


@pytest.fixture
def partition(cluster: RoutedCluster, make_topic: MakeTopic) -> Iterator[Partition]:
    found = at_leader(cluster, make_topic())
    with found.wire:
        yield found


def test_wrong_batches_are_rejected_and_right_ones_go_on(partition: Partition) -> None:
    assert partition.produce(batch()).base_offset == 0
    for version in (3, 8, 9, 12):
        for what, (records, error) in _WRONG.items():
            answer = partition.produce(records, version=version)
            assert (answer.error_code, answer.base_offset) == (error, -1), f"{what}, version {version}"
            assert answer.error_message or version < 8, what
    assert partition.end == 3
    assert partition.produce(batch()).base_offset == 3


def test_bad_records_are_named(partition: Partition) -> None:
    """KIP-467: the index of each bad record in its batch; the timestamps in the header do not count."""
    late = batch_of([raw_record(at, timestamp_delta=_DAY_MS * (at % 2)) for at in range(4)], _NOW)
    row = partition.produce(late)
    assert row.error_code == Error.INVALID_TIMESTAMP
    assert [bad.batch_index for bad in row.record_errors] == [1, 3]
    assert row.error_message == "One or more records have been rejected due to invalid timestamp"
    row = partition.produce(poisoned(MISNUMBERED["offset delta 5"], _NOW))
    assert [bad.batch_index for bad in row.record_errors] == [1]
    assert partition.end == 0
    assert partition.produce(changed(batch(), max_timestamp=_NOW + _DAY_MS)).error_code == 0, "corrected, as in Kafka"
    assert partition.end == 3


def test_with_acks_0_a_wrong_batch_closes_the_connection(cluster: RoutedCluster, partition: Partition) -> None:
    part = ProduceRequest.PartitionProduceData(index=0, records=_WRONG["a wrong checksum"][0])
    data = ProduceRequest.TopicProduceData(name=partition.topic, partition_data=[part])
    body = ProduceRequest(acks=0, timeout_ms=1_000, topic_data=[data]).encode(9)
    partition.wire.send(partition.wire.request(ApiKey.PRODUCE, 9, body))
    assert partition.wire.closed()


def test_invalid_produce_requests_get_errors(partition: Partition) -> None:
    assert partition.produce(batch(), index=7).error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert partition.produce(batch(), index=-1).error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert partition.produce(batch(), topic="never-made").error_code == Error.UNKNOWN_TOPIC_OR_PARTITION
    assert partition.produce(batch(), acks=7).error_code == Error.INVALID_REQUIRED_ACKS
    assert partition.produce(None).error_code == Error.INVALID_RECORD
    assert partition.end == 0


def test_sequences_are_kept(partition: Partition) -> None:
    """A duplicate gets its first offset again; gaps and old epochs are rejected (KIP-98)."""
    given = partition.wire.ask(ApiKey.INIT_PRODUCER_ID, 4, InitProducerIdRequest(transactional_id=None))
    producer_id = given.producer_id
    assert given.error_code == 0

    def sent(sequence: int, epoch: int = 0) -> tuple[int, int]:
        records = batch(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
        answer = partition.produce(records)
        return answer.error_code, answer.base_offset

    assert sent(0) == (0, 0)
    assert sent(3) == (0, 3)
    assert sent(0) == (0, 0)
    assert sent(3) == (0, 3)
    assert sent(9) == (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert sent(7, epoch=1) == (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert sent(0, epoch=1) == (0, 6)
    assert sent(6) == (Error.INVALID_PRODUCER_EPOCH, -1)
    for number in range(1, 7):
        assert sent(3 * number, epoch=1) == (0, 6 + 3 * number)
    assert sent(0, epoch=1)[0] != 0, "six batches ago is out of memory"
    assert partition.end == 27


@pytest.mark.spec("D1")
def test_the_response_names_the_invalid_records(cluster: RoutedCluster, make_topic: MakeTopic) -> None:
    """librdkafka separates the good messages of a rejected batch from the bad ones by the indexes that the broker
    returns."""
    topic = make_topic(cleanup_policy="compact")
    with compacted(cluster, topic).wire:
        pass
    errors: dict[str, str] = {}

    def delivered(error: Any, message: Message) -> None:
        errors[str((message.value() or b"").decode())] = "none" if error is None else error.name()

    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "linger.ms": 500, "partitioner": "consistent"})
    for value, key in (("a", b"k"), ("b", None), ("c", b"k"), ("d", None)):
        producer.produce(topic, value, key, partition=0, on_delivery=delivered)
    assert producer.flush(30) == 0
    bad, good = "INVALID_RECORD", "_INVALID_DIFFERENT_RECORD"
    assert errors == {"a": good, "b": bad, "c": good, "d": bad}


def test_a_compacted_topic_wants_keys(cluster: RoutedCluster, make_topic: MakeTopic) -> None:
    partition = compacted(cluster, make_topic(cleanup_policy="compact"))
    with partition.wire:
        assert partition.produce(batch()).error_code == Error.INVALID_RECORD
        keyed = encode_batch([Record(key=b"k", value=b"v")], timestamp_ms=_NOW)
        assert partition.produce(keyed).error_code == 0
