"""librdkafka uses the sequences of records again that it aborts before it retries them, although the broker has them.
Apache Kafka 4.4.0 takes the records of the next transaction for a repetition: commits without them (decision 0058)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from signalbox.testing.faults.request_faults import CutAfterRequest
from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from tests.waiting import until

pytestmark = pytest.mark.spec("D5")

_TOPIC = "transfers"
_CALL_S = 30.0
_SETTINGS: dict[str, Any] = {
    "transactional.id": "reusing",
    "retry.backoff.ms": 5_000,  # the records are aborted before it is over
    "retry.backoff.max.ms": 5_000,
    "linger.ms": 100,  # both records of a transaction are one batch
}


@pytest.fixture
def cluster() -> Iterator[KafkaCluster]:
    with KafkaCluster(ClusterOptions(brokers=1, topics={_TOPIC: 1})) as started:
        yield started


def send(producer: Producer, *values: bytes) -> None:
    for value in values:
        producer.produce(_TOPIC, value, partition=0)


def read(cluster: KafkaCluster, isolation: str) -> list[bytes]:
    """All records that a reader of this isolation level gets."""
    settings = {"group.id": isolation, "isolation.level": isolation, "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, **settings})
    consumer.assign([TopicPartition(_TOPIC, 0, 0)])
    values: list[bytes] = []
    while True:
        message = consumer.poll(_CALL_S)
        assert message is not None
        if message.error() is not None:
            consumer.close()
            return values
        values.append(message.value() or b"")


def test_records_with_the_sequences_of_aborted_ones_are_not_acknowledged_as_repeated(cluster: KafkaCluster) -> None:
    errors: list[Any] = []
    settings = {**_SETTINGS, "bootstrap.servers": cluster.bootstrap_servers, "error_cb": errors.append}
    producer = Producer(settings)
    producer.init_transactions(_CALL_S)
    producer.begin_transaction()
    send(producer, b"first")
    producer.commit_transaction(_CALL_S)

    producer.begin_transaction()
    errors.clear()
    with cluster.faults(CutAfterRequest(api="Produce")):
        send(producer, b"aborted 1", b"aborted 2")
        until(partial(has_failed, producer, errors), "the client has no response")
    producer.abort_transaction(_CALL_S)
    assert read(cluster, "read_uncommitted") == [b"first", b"aborted 1", b"aborted 2"]

    producer.begin_transaction()
    send(producer, b"lost 1", b"lost 2")
    with pytest.raises(KafkaException) as failed:
        producer.commit_transaction(_CALL_S)
    assert failed.value.args[0].txn_requires_abort()
    producer.abort_transaction(_CALL_S)
    producer.begin_transaction()
    send(producer, b"kept 1", b"kept 2")
    producer.commit_transaction(_CALL_S)
    assert read(cluster, "read_committed") == [b"first", b"kept 1", b"kept 2"]


def has_failed(producer: Producer, errors: list[Any]) -> bool:
    producer.poll(0.01)
    return bool(errors)
