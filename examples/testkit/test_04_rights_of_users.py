"""With `authorize` users have the rights that ACLs give them. Client: Signalbox's own."""

import pytest

from signalbox.client import AuthorizationFailed, SyncClient
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


@pytest.mark.kafka_cluster(brokers=1, security="SASL_PLAINTEXT", users={"guest": "g-secret"}, authorize=True)
def test_a_guest_may_not_write(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    settings = kafka_cluster.client_config("guest").settings()
    with SyncClient(settings) as client, client.producer() as producer, pytest.raises(AuthorizationFailed):
        producer.send(kafka_topic, b"graffiti").result(30)
    assert kafka_cluster.topics.records(kafka_topic) == {0: []}
