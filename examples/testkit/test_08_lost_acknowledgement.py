"""The broker stores a record, and the connection is cut in place of the acknowledgement: the producer has to retry, and
an idempotent one stores nothing twice. Client: confluent-kafka."""

from confluent_kafka import Producer

from signalbox.testing.faults import CutAfterRequest
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


def stored(cluster: KafkaCluster, topic: str, idempotent: bool) -> list[bytes | None]:
    producer = Producer(
        {
            **cluster.client_config().librdkafka(),
            "enable.idempotence": idempotent,
            "retry.backoff.ms": 10,
            "log_level": 0,
        }
    )
    with cluster.faults(CutAfterRequest(api="Produce")):
        producer.produce(topic, b"charge the card", partition=0)
        assert producer.flush(30) == 0
    return [record.value for record in cluster.topics.records(topic)[0]]


def test_an_idempotent_producer(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    assert stored(kafka_cluster, kafka_topic, idempotent=True) == [b"charge the card"]


def test_another_one_stores_it_twice(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    assert stored(kafka_cluster, kafka_topic, idempotent=False) == [b"charge the card"] * 2
