"""The host of broker 3 belongs to another cluster now, which has a topic of that name, too. A client that pins the
cluster id writes nothing there. Client: Signalbox's own."""

from collections.abc import Callable

from signalbox.client import SyncClient
from signalbox.testing.faults import SendElsewhere
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


def test_a_broker_of_another_cluster(kafka_cluster_factory: Callable[..., KafkaCluster]) -> None:
    cluster = kafka_cluster_factory(brokers=3, topics={"orders": 3})
    other = kafka_cluster_factory(brokers=1, topics={"orders": 3})
    settings = cluster.client_config().settings(signalbox_cluster_id_policy="pin-first")
    with SyncClient(settings) as client, client.producer() as producer:
        producer.send("orders", b"before", partition=2).result(30)
        with cluster.faults(SendElsewhere(3, other.target(1))):
            late = producer.send("orders", b"late", partition=2)
            producer.send("orders", b"meanwhile", partition=0).result(30)
        late.result(30)
    assert [record.value for record in cluster.topics.records("orders")[2]] == [b"before", b"late"]
    assert other.topics.records("orders") == {0: [], 1: [], 2: []}
