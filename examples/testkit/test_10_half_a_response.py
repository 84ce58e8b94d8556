"""Connections break in the middle of a response: a consumer reads every record all the same. Client: kafka-python."""

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
    consumer = KafkaConsumer(**config, auto_offset_reset="earliest", fetch_max_bytes=4_000)
    consumer.assign([TopicPartition(kafka_topic, 0)])
    received = [next(consumer).value]
    cut = kafka_cluster.faults(CutAfterBytes(1, 6_000))
    received += [next(consumer).value for _ in range(9)]
    cut.remove()
    received += [next(consumer).value for _ in range(40)]
    consumer.close()
    assert received == VALUES
