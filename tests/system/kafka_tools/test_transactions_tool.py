"""kafka-transactions of Apache Kafka: transactions are listed, described and terminated; one that no coordinator knows
is found and aborted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.produce import ProduceRequest
from signalbox.protocol.records.record_batch import Record, encode_batch
from tests.system.clusters import RoutedCluster
from tests.system.conftest import MakeTopic
from tests.system.console_tools import tool, tried
from tests.system.provision import command, java_class
from tests.system.wire import dial
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240), pytest.mark.spec("D5")]

_GHOST = 4_242_424
_AN_HOUR_MS = 3_600_000


@pytest.fixture
def at(kafka_bootstrap: str) -> list[str]:
    return ["--bootstrap-server", kafka_bootstrap]


def rows(text: str) -> list[list[str]]:
    """The cells of a table that the tool printed, without its head."""
    return [line.split() for line in text.splitlines()[1:] if line.strip()]


def opened(bootstrap: str, name: str, topic: str) -> Producer:
    """A producer with an open transaction of one record."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(30) == 0
    return producer


def committed_values(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """The first values of partition 0 for a consumer with read_committed."""
    settings = {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": "read_committed"}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    values = [message.value() or b"" for message in consumer.consume(count, 60)]
    consumer.close()
    return values


def test_an_open_transaction_is_listed_described_and_terminated(
    kafka_bootstrap: str, at: list[str], make_topic: MakeTopic
) -> None:
    topic = make_topic()
    name = f"open-{topic}"
    producer = opened(kafka_bootstrap, name, topic)
    [[listed, _, producer_id, state]] = rows(
        tool("kafka-transactions", *at, "list", "--transactional-id-pattern", name)
    )
    assert (listed, state) == (name, "Ongoing")
    assert name not in tool("kafka-transactions", *at, "list", "--duration-filter", str(_AN_HOUR_MS))
    [described] = rows(tool("kafka-transactions", *at, "describe", "--transactional-id", name))
    assert described[1:3] == [name, producer_id]
    assert (described[4], described[-1]) == ("Ongoing", f"{topic}-0")
    of_partition = ["describe-producers", "--topic", topic, "--partition", "0"]
    [found] = rows(tool("kafka-transactions", *at, *of_partition))
    assert (found[0], found[-1]) == (producer_id, "0")
    for broker_id in (1, 2, 3):
        on_replica = [*of_partition, "--broker-id", str(broker_id)]
        until(lambda ask=on_replica: rows(tool("kafka-transactions", *at, *ask)), f"the producer on {broker_id}")  # type: ignore[misc]
    unknown = tried("kafka-transactions", *at, "describe", "--transactional-id", "unknown-id")
    assert unknown.code == 1
    assert "could not be found" in unknown.out + unknown.err
    tool("kafka-transactions", *at, "forceTerminateTransaction", "--transactionalId", name)
    with pytest.raises(KafkaException):
        producer.commit_transaction(60)
    [described] = rows(tool("kafka-transactions", *at, "describe", "--transactional-id", name))
    assert described[4] in ("CompleteAbort", "PrepareAbort", "Empty")


@contextmanager
def without_verification(at: list[str]) -> Iterator[None]:
    """Leaders append the batches of transactions without asking their coordinators."""
    of_brokers = ["--entity-type", "brokers", "--entity-default", "--alter"]
    key = "transaction.partition.verification.enable"
    tool("kafka-configs", *at, *of_brokers, "--add-config", f"{key}=false")
    try:
        yield
    finally:
        tool("kafka-configs", *at, *of_brokers, "--delete-config", key)


def append_ghost(cluster: RoutedCluster, topic: str) -> int:
    """Appends a batch, an hour old, of a transaction that no coordinator knows; the leader's id."""
    batch = encode_batch(
        [Record(value=b"ghost", timestamp=time.time_ns() // 1_000_000 - _AN_HOUR_MS)],
        producer_id=_GHOST,
        producer_epoch=3,
        base_sequence=0,
        transactional=True,
    )
    data = ProduceRequest.PartitionProduceData(index=0, records=batch)
    request = ProduceRequest(
        transactional_id="ghost",
        acks=-1,
        timeout_ms=10_000,
        topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])],
    )
    with dial(cluster, 1) as wire:
        named = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
        leader: int = wire.ask(ApiKey.METADATA, 12, named).topics[0].partitions[0].leader_id

    def is_appended() -> bool:
        with dial(cluster, leader) as wire:
            [partition] = wire.ask(ApiKey.PRODUCE, 11, request).responses[0].partition_responses
        return Error.of(partition.error_code) is Error.NONE

    until(is_appended, "a batch without verification")
    return leader


def test_a_hanging_transaction_is_found_and_aborted(
    cluster: RoutedCluster, kafka_bootstrap: str, at: list[str], make_topic: MakeTopic
) -> None:
    topic = make_topic()
    with without_verification(at):
        leader = append_ghost(cluster, topic)
    producer = Producer({"bootstrap.servers": kafka_bootstrap})
    producer.produce(topic, b"behind it", partition=0)
    assert producer.flush(30) == 0
    search = ["find-hanging", "--broker-id", str(leader)]
    [hanging] = [row for row in rows(tool("kafka-transactions", *at, *search)) if row[0] == topic]
    assert hanging[1:6] == ["0", str(_GHOST), "3", "-1", "0"]
    elsewhere = ["--topic", topic, "--partition", "0", "--max-transaction-timeout", "120"]
    assert rows(tool("kafka-transactions", *at, "find-hanging", *elsewhere)) == []
    tool("kafka-transactions", *at, "abort", "--topic", topic, "--partition", "0", "--start-offset", "0")
    assert rows(tool("kafka-transactions", *at, "find-hanging", "--topic", topic)) == []
    assert committed_values(kafka_bootstrap, topic, 1) == [b"behind it"]
