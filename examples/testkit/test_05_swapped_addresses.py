"""The addresses of brokers 1 and 2 are swapped while a producer works: a client that sends the identity of the node (as
KIP-1242 says) gets REBOOTSTRAP_REQUIRED from the wrong one, and broker 3 goes on. Client: Signalbox's own."""

from signalbox.client import SyncClient
from signalbox.testing.faults import SwapAddresses
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


def test_two_brokers_swapped(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    settings = kafka_cluster.client_config().settings(client_id="orders")
    with SyncClient(settings) as client, client.producer() as producer:
        producer.send(kafka_topic, b"before", partition=0).result(30)
        with kafka_cluster.faults(SwapAddresses(1, 2)):
            late = producer.send(kafka_topic, b"late", partition=0)
            producer.send(kafka_topic, b"meanwhile", partition=2).result(30)
            assert not late.done()
        late.result(30)
    values = {
        partition: [row.value for row in rows] for partition, rows in kafka_cluster.topics.records(kafka_topic).items()
    }
    assert values == {0: [b"before", b"late"], 1: [], 2: [b"meanwhile"]}
    assert any(request.node_id == 1 for request in kafka_cluster.requests("orders"))
