"""A cluster of three brokers for a test: the fixture comes with the package. Client: confluent-kafka."""

from confluent_kafka import Consumer, Producer

from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


def test_what_goes_in_comes_out(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    config = kafka_cluster.client_config().librdkafka()
    producer = Producer({**config, "acks": "all"})
    producer.produce(kafka_topic, b"one coffee")
    assert producer.flush(30) == 0
    consumer = Consumer({**config, "group.id": "kitchen", "auto.offset.reset": "earliest"})
    consumer.subscribe([kafka_topic])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.value() == b"one coffee"
