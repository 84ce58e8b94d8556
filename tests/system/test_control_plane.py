"""The forced control plane: the four controller requests and set-up, nothing else; what is refused is seen."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.system.clusters import RoutedCluster, metric, until
from tests.system.wire import dial

_ADMITTED = {
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.API_VERSIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
}
_REJECTED = "kafka_network_socketserver_controlplanerejectedrequestscount"


@pytest.mark.spec("C4")
def test_every_other_api_closes_the_connection(cluster: RoutedCluster) -> None:
    before = metric(cluster, 1, _REJECTED)
    strangers = [row for row in API_TABLE.values() if row.key not in _ADMITTED]
    assert len(strangers) > 40
    for row in strangers:
        with dial(cluster, 1, "CONTROL") as wire:
            wire.send(wire.request(row.key, row.max_version, row.request().encode(row.max_version)))
            assert wire.closed(), row.name
    assert metric(cluster, 1, _REJECTED) == before + len(strangers)


@pytest.mark.spec("C4")
def test_its_api_versions_lists_just_those(cluster: RoutedCluster) -> None:
    with dial(cluster, 1, "CONTROL") as wire:
        for version in range(6):
            named = ApiVersionsRequest(client_software_name="wire", client_software_version="1")
            answer = wire.ask(ApiKey.API_VERSIONS, version, named if version >= 3 else ApiVersionsRequest())
            assert {row.api_key for row in answer.api_keys} == _ADMITTED


@pytest.mark.spec("C4")
def test_a_refusal_is_logged_and_enters_the_audit_trail(cluster: RoutedCluster, kafka_bootstrap: str) -> None:
    with dial(cluster, 2, "CONTROL") as wire:
        wire.send(wire.request(ApiKey.METADATA, 12, MetadataRequest(topics=None).encode(12), client_id="trespasser"))
        assert wire.closed()
    log = cluster.brokers[2].log_file
    until(lambda: "trespasser at 127.0.0.1 sent Metadata" in log.read_text(), "a line in the broker's log")

    consumer = Consumer({"bootstrap.servers": kafka_bootstrap, "group.id": "control-plane-auditor"})
    partitions = until(
        lambda: consumer.list_topics(AUDIT_TOPIC, timeout=10).topics[AUDIT_TOPIC].partitions, "the audit topic is made"
    )
    consumer.assign([TopicPartition(AUDIT_TOPIC, partition, 0) for partition in partitions])

    def audited() -> dict[str, Any] | None:
        for message in consumer.consume(500, 0.5):
            event: dict[str, Any] = json.loads(message.value() or b"{}")
            if event.get("client_id") == "trespasser":
                return event
        return None

    event = until(audited, "the refusal in the audit trail")
    consumer.close()
    assert event is not None
    assert (event["kind"], event["listener"], event["plane"], event["api"]) == (
        "refused",
        "CONTROL",
        "control",
        "Metadata",
    )


@pytest.mark.spec("C2", "F1")
def test_an_old_controller_is_refused(cluster: RoutedCluster) -> None:
    with dial(cluster, 1, "CONTROL") as wire:
        answer = wire.ask(ApiKey.LEADER_AND_ISR, 7, LeaderAndIsrRequest(controller_id=3, controller_epoch=0))
    assert answer.error_code == 11, "STALE_CONTROLLER_EPOCH"


@pytest.mark.spec("C4", "F4")
def test_nobody_poses_as_the_controller_on_a_client_listener(cluster: RoutedCluster) -> None:
    forged: dict[str, Any] = {"controller_id": 3, "controller_epoch": 1_000_000, "broker_epoch": -1}
    with dial(cluster, 1, "CLIENT") as wire:
        for key, version, request in (
            (ApiKey.LEADER_AND_ISR, 7, LeaderAndIsrRequest(**forged)),
            (ApiKey.UPDATE_METADATA, 8, UpdateMetadataRequest(**forged)),
            (ApiKey.STOP_REPLICA, 4, StopReplicaRequest(**forged)),
        ):
            assert wire.ask(key, version, request).error_code == Error.CLUSTER_AUTHORIZATION_FAILED
        assert len(wire.ask(ApiKey.METADATA, 12, MetadataRequest()).brokers) == 3
