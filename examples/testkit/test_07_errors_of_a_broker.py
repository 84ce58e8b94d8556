"""Errors that a healthy broker returns rarely: the first three Produce requests get one that is worth a retry, then one
that is not. Client: confluent-kafka."""

from confluent_kafka import KafkaError, Producer

from signalbox.testing.faults import AnswerWithError
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


def error_of(producer: Producer, topic: str, value: bytes) -> KafkaError | None:
    errors: list[KafkaError | None] = []
    producer.produce(topic, value, partition=0, on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)
    return errors[0]


def test_retries(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    producer = Producer({**kafka_cluster.client_config().librdkafka(), "retry.backoff.ms": 10})
    with kafka_cluster.faults(AnswerWithError(api="Produce", error="NOT_ENOUGH_REPLICAS", times=3)):
        assert error_of(producer, kafka_topic, b"retried") is None
    with kafka_cluster.faults(AnswerWithError(api="Produce", error="TOPIC_AUTHORIZATION_FAILED")):
        error = error_of(producer, kafka_topic, b"rejected")
        assert error is not None
        assert error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]] == [b"retried"]
