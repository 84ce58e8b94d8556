"""Nodes that seem to be others."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.faults import CapApiVersions, CapVersions, RewriteMetadata, WrongCluster, WrongNode
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from tests.testing.faults.probes import PATIENT, accepts, ask, metadata_of, node_at

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


def test_a_broker_serves_fewer_versions_of_an_api(kafka_cluster: KafkaCluster) -> None:
    def versions() -> dict[int, tuple[int, int]]:
        [response] = ask(kafka_cluster.advertised(1), VERSIONS)
        return {row.api_key: (row.min_version, row.max_version) for row in response.api_keys}

    before = versions()
    with kafka_cluster.faults(CapVersions(1, "Metadata", 7, lowest=2), CapVersions(1, "DescribeCluster", -1)):
        capped = versions()
        assert capped == {**{key: row for key, row in before.items() if key != 60}, 3: (2, 7)}
        assert metadata_of(kafka_cluster.advertised(1)).cluster_id == kafka_cluster.cluster_id
        assert kafka_cluster.requests("probe")[-1].version == 7
    assert versions() == before


def test_a_version_that_is_not_served_ends_the_connection(kafka_cluster: KafkaCluster) -> None:
    metadata_0 = bytes.fromhex("00000010 0003 0008 00000001 ffff ffffffff 0000")
    with kafka_cluster.faults(CapVersions(1, "Metadata", 7)):
        connection = socket.create_connection(kafka_cluster.advertised(1), 60)
        connection.sendall(metadata_0)
        assert connection.recv(1) == b""
        connection.close()


def test_versions_of_api_versions_have_a_fault_of_their_own() -> None:
    with pytest.raises(ValueError, match="CapApiVersions"):
        CapVersions(1, "ApiVersions", 3)
    with pytest.raises(ValueError, match="no API 'Metadatum'"):
        CapVersions(1, "Metadatum", 3)


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


def test_one_client_alone(kafka_cluster: KafkaCluster) -> None:
    other = replace(PATIENT, client_id="other")
    metadata = MetadataRequest(topics=[])

    def clusters_shown() -> list[str]:
        return [
            ask(kafka_cluster.advertised(1), metadata, settings=settings)[0].cluster_id for settings in (PATIENT, other)
        ]

    def newest(settings: ConnectionSettings, api: int) -> int:
        [response] = ask(kafka_cluster.advertised(1), VERSIONS, settings=replace(settings, identity_enabled=False))
        return int(next(row.max_version for row in response.api_keys if row.api_key == api))

    true, before = kafka_cluster.cluster_id, newest(other, 1)
    with kafka_cluster.faults(WrongCluster(1, "elsewhere", client_id="probe")):
        assert clusters_shown() == ["elsewhere", true]
        assert node_at(kafka_cluster, kafka_cluster.advertised(1)) == []
    with kafka_cluster.faults(WrongCluster(1, "elsewhere", client_id="other"), WrongNode(2, 7, client_id="other")):
        assert clusters_shown() == [true, "elsewhere"]
        assert [node_at(kafka_cluster, kafka_cluster.advertised(node)) for node in (1, 2)] == [[1], [2]]
    with kafka_cluster.faults(CapVersions(1, "Fetch", 11, client_id="other"), CapApiVersions(1, client_id="other")):
        assert [newest(PATIENT, api) for api in (1, 18)] == [before, 5]
        assert [newest(other, api) for api in (1, 18)] == [11, 4]
    with kafka_cluster.faults(RewriteMetadata([1], hidden=[2], client_id="other")):
        shown = [ask(kafka_cluster.advertised(1), metadata, settings=each)[0].brokers for each in (PATIENT, other)]
        assert [len(brokers) for brokers in shown] == [3, 2]


@pytest.mark.kafka_cluster(brokers=3, listeners={"EXTERNAL": "PLAINTEXT"})
def test_one_listener_alone(kafka_cluster: KafkaCluster) -> None:
    def nodes_at(node: int) -> list[list[int]]:
        listeners = ("CLIENT", "EXTERNAL")
        return [node_at(kafka_cluster, kafka_cluster.advertised(node, each)) for each in listeners]

    with kafka_cluster.faults(WrongNode(1, 7, listener="EXTERNAL"), WrongCluster(2, "elsewhere", listener="CLIENT")):
        assert [nodes_at(node) for node in (1, 2)] == [[[1], []], [[], [2]]]
    with kafka_cluster.faults(RewriteMetadata([1], hidden=[3], listener="EXTERNAL")):
        shown = [metadata_of(kafka_cluster.advertised(1, each)).brokers for each in ("CLIENT", "EXTERNAL")]
        assert [len(brokers) for brokers in shown] == [3, 2]
    with pytest.raises(ValueError, match="no listener 'INNER'; there are CLIENT, EXTERNAL"):
        kafka_cluster.faults(CapVersions(1, "Fetch", 11, listener="INNER"))
    assert [nodes_at(node) for node in (1, 2)] == [[[1], [1]], [[2], [2]]]
