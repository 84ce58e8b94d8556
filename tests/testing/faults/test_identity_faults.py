"""Nodes that seem to be others."""

from __future__ import annotations

import pytest

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.faults import CapApiVersions, RewriteMetadata, WrongCluster, WrongNode
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from tests.testing.faults.probes import accepts, ask, metadata_of, node_at

VERSIONS = ApiVersionsRequest(client_software_name="probe", client_software_version="1")

pytestmark = pytest.mark.spec("R7")


def test_a_broker_answers_as_another_node(kafka_cluster: KafkaCluster) -> None:
    with kafka_cluster.faults(WrongNode(1, is_node=7)):
        assert node_at(kafka_cluster, kafka_cluster.advertised(1)) == []
        assert accepts(kafka_cluster.advertised(1), kafka_cluster.cluster_id, 7)
        assert node_at(kafka_cluster, kafka_cluster.advertised(2)) == [2]
    assert node_at(kafka_cluster, kafka_cluster.advertised(1)) == [1]


def test_a_broker_of_another_cluster(kafka_cluster: KafkaCluster) -> None:
    with kafka_cluster.faults(WrongCluster(2, "elsewhere")):
        assert metadata_of(kafka_cluster.advertised(2)).cluster_id == "elsewhere"
        assert node_at(kafka_cluster, kafka_cluster.advertised(2)) == []
        assert accepts(kafka_cluster.advertised(2), "elsewhere", 2)
        assert metadata_of(kafka_cluster.advertised(1)).cluster_id == kafka_cluster.cluster_id
    assert metadata_of(kafka_cluster.advertised(2)).cluster_id == kafka_cluster.cluster_id


def test_api_versions_up_to_four(kafka_cluster: KafkaCluster) -> None:
    def newest() -> int:
        without_identity = ConnectionSettings(identity_enabled=False)
        [response] = ask(kafka_cluster.advertised(3), VERSIONS, settings=without_identity)
        assert response.error_code == Error.NONE
        return int(max(row.max_version for row in response.api_keys if row.api_key == 18))

    with kafka_cluster.faults(CapApiVersions(3)):
        assert newest() == 4
    assert newest() == 5


def test_metadata_with_other_addresses_and_without_a_node(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    def shown(node: int) -> dict[int, tuple[str, int]]:
        return {row.node_id: (row.host, row.port) for row in metadata_of(kafka_cluster.advertised(node)).brokers}

    true = shown(1)
    with kafka_cluster.faults(RewriteMetadata([1, 2], addresses={1: ("elsewhere", 9)}, hidden=[3])):
        assert shown(1) == shown(2) == {1: ("elsewhere", 9), 2: true[2]}
        [response] = ask(kafka_cluster.advertised(1), MetadataRequest(topics=None))
        leaders = {
            row.partition_index: (row.leader_id, row.error_code)
            for topic in response.topics
            if topic.name == kafka_topic
            for row in topic.partitions
        }
        assert leaders == {0: (1, 0), 1: (2, 0), 2: (-1, Error.LISTENER_NOT_FOUND)}
        assert shown(3) == true
    assert shown(1) == true
