"""Tests share a cluster, which is fast, and have topics of their own. Client: kafka-python."""

import pytest
from kafka import KafkaProducer

from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


@pytest.mark.parametrize("drink", ["coffee", "tea"])
def test_orders(kafka_cluster: KafkaCluster, kafka_topic: str, drink: str) -> None:
    producer = KafkaProducer(**kafka_cluster.client_config().kafka_python())
    producer.send(kafka_topic, drink.encode(), partition=0).get(30)
    producer.close()
    assert [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]] == [drink.encode()]
