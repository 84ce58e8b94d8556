"""A broker that is slow, and one that accepts connections and sends nothing: time-outs. Client: Signalbox's own."""

import time

import pytest

from signalbox.client import ClientFailure, ProducerSettings, SyncClient
from signalbox.testing.faults import Delay, Stall
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


def test_a_slow_broker_is_waited_for(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    with SyncClient(kafka_cluster.client_config().settings()) as client, client.producer() as producer:
        producer.send(kafka_topic, b"first", partition=0).result(30)
        with kafka_cluster.faults(Delay(1, 100)):
            began = time.monotonic()
            producer.send(kafka_topic, b"late", partition=0).result(30)
            assert time.monotonic() - began >= 0.2


def test_a_silent_broker_ends_in_an_error(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    settings = kafka_cluster.client_config().settings(request_timeout_ms="200")
    with SyncClient(settings) as client, client.producer(ProducerSettings(delivery_timeout_ms=1_000)) as producer:
        producer.send(kafka_topic, b"first", partition=0).result(30)
        with kafka_cluster.faults(Stall(1)), pytest.raises(ClientFailure):
            producer.send(kafka_topic, b"too late", partition=0).result(30)
