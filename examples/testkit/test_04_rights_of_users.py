"""With `acls` users have the rights that they name, and no others. Client: Signalbox's own."""

import pytest

from signalbox.client import AuthorizationFailed, SyncClient
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.kafka_cluster(
    brokers=1,
    security="SASL_PLAINTEXT",
    users={"guest": "g-secret", "alice": "a-secret"},
    topics={"orders": 1},
    acls={"alice": ["WRITE orders"]},
)


def test_a_guest_may_not_write(kafka_cluster: KafkaCluster) -> None:
    settings = kafka_cluster.client_config("guest").settings()
    with SyncClient(settings) as client, client.producer() as producer, pytest.raises(AuthorizationFailed):
        producer.send("orders", b"graffiti").result(30)
    assert kafka_cluster.topics.records("orders") == {0: []}


def test_alice_may(kafka_cluster: KafkaCluster) -> None:
    settings = kafka_cluster.client_config("alice").settings()
    with SyncClient(settings) as client, client.producer() as producer:
        producer.send("orders", b"two of these").result(30)
    assert [record.value for record in kafka_cluster.topics.records("orders")[0]] == [b"two of these"]
