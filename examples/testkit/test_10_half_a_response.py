"""Connections break in the middle of a response: a consumer reads every record all the same. Client: kafka-python."""

import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from signalbox.testing.faults import CutAfterBytes
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster

VALUES = [b"%04d" % number * 100 for number in range(50)]


def test_a_consumer_connects_again(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    config = kafka_cluster.client_config().kafka_python()
    producer = KafkaProducer(**config)
    for value in VALUES:
        producer.send(kafka_topic, value, partition=0)
    producer.flush(30)
    producer.close()
    consumer = KafkaConsumer(**config, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(kafka_topic, 0)])
    received: list[bytes] = []
    with kafka_cluster.faults(CutAfterBytes(1, 2_000)):
        consumer.poll(timeout_ms=1_000)  # the records do not fit into 2,000 bytes
    deadline = time.monotonic() + 30
    while len(received) < len(VALUES) and time.monotonic() < deadline:
        received += [record.value for records in consumer.poll(timeout_ms=500).values() for record in records]
    consumer.close()
    assert received == VALUES
