"""Brokers as processes: one is killed and started, and no acknowledged record is lost. Client: Signalbox's own."""

import pytest

from signalbox.client import SyncClient
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from signalbox.testing.process_cluster import ProcessCluster


@pytest.mark.kafka_cluster(brokers=3, processes=True)
def test_a_broker_is_killed(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    assert isinstance(kafka_cluster.brokers, ProcessCluster)
    with SyncClient(kafka_cluster.client_config().settings()) as client, client.producer() as producer:
        producer.send(kafka_topic, b"before", partition=1).result(30)
        kafka_cluster.brokers.kill(2)
        producer.send(kafka_topic, b"meanwhile", partition=1).result(60)
        kafka_cluster.brokers.start_broker(2)
        producer.send(kafka_topic, b"after", partition=1).result(60)
    values = [record.value for record in kafka_cluster.topics.records(kafka_topic)[1]]
    assert values == [b"before", b"meanwhile", b"after"]
