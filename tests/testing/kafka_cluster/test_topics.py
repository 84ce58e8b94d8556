"""Topics of a test cluster, and the records in them."""

from __future__ import annotations

import pytest

from signalbox.client import SyncClient
from signalbox.protocol.error_table import KafkaError
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from tests.testing.faults.probes import metadata_of

pytestmark = pytest.mark.spec("R7")


def test_each_broker_leads_a_partition(kafka_cluster: KafkaCluster) -> None:
    kafka_cluster.topics.create("led", 4)
    assert kafka_cluster.topics.leaders("led") == {0: 1, 1: 2, 2: 3, 3: 1}
    with pytest.raises(KafkaError):
        kafka_cluster.topics.create("led", 1)


def test_every_broker_has_a_new_topic_at_once(kafka_cluster: KafkaCluster) -> None:
    for number in range(15):
        kafka_cluster.topics.create(f"new{number}", 3)
        for node in kafka_cluster.node_ids:
            [topic] = [
                each for each in metadata_of(kafka_cluster.advertised(node)).topics if each.name == f"new{number}"
            ]
            assert [row.error_code for row in topic.partitions] == [0, 0, 0]


def test_all_records_by_partition(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    with SyncClient(kafka_cluster.client_config().settings()) as client, client.producer() as producer:
        for number in range(700):
            sent = producer.send(kafka_topic, b"%d" % number, partition=2 * (number % 2))
        producer.flush()
        sent.result(60)
    values = {
        partition: [int(record.value or b"-1") for record in records]
        for partition, records in kafka_cluster.topics.records(kafka_topic).items()
    }
    assert values == {0: list(range(0, 700, 2)), 1: [], 2: list(range(1, 700, 2))}
