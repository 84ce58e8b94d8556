"""The forced control plane: the four controller requests and connection set-up, nothing else; rejections are visible in
metrics."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from tests.system.clusters import RoutedCluster, metric
from tests.system.wire import dial
from tests.waiting import until

_ADMITTED = {
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.API_VERSIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
}
_ATTACKERS, _PARTITIONS = 320, 100_000
_REJECTED = "signalbox_network_socketserver_rejectedrequests_total"


@pytest.mark.spec("C4")
def test_every_other_api_closes_the_connection(cluster: RoutedCluster) -> None:
    before = metric(cluster, 1, _REJECTED, plane="control")
    not_admitted = [row for row in API_TABLE.values() if row.key not in _ADMITTED]
    assert len(not_admitted) > 40
    for row in not_admitted:
        with dial(cluster, 1, "CONTROL") as wire:
            wire.send(wire.request(row.key, row.max_version, row.request().encode(row.max_version)))
            assert wire.closed(), row.name
    assert metric(cluster, 1, _REJECTED, plane="control") == before + len(not_admitted)


@pytest.mark.spec("C4")
def test_its_api_versions_lists_just_those(cluster: RoutedCluster) -> None:
    with dial(cluster, 1, "CONTROL") as wire:
        for version in range(6):
            named = ApiVersionsRequest(client_software_name="wire", client_software_version="1")
            answer = wire.ask(ApiKey.API_VERSIONS, version, named if version >= 3 else ApiVersionsRequest())
            assert {row.api_key for row in answer.api_keys} == _ADMITTED


@pytest.mark.spec("C4")
def test_a_rejection_is_logged_and_enters_the_audit_trail(cluster: RoutedCluster, kafka_bootstrap: str) -> None:
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

    event = until(audited, "the rejection in the audit trail")
    consumer.close()
    assert event is not None
    assert (event["kind"], event["listener"], event["plane"], event["api"]) == (
        "rejected",
        "CONTROL",
        "control",
        "Metadata",
    )


@pytest.mark.spec("C4", "C5")
def test_a_storm_of_rejected_connections_does_not_delay_open_ones(cluster: RoutedCluster) -> None:
    """Rejected connections from 16 addresses, all open at once; a connection like the controller's gets responses all
    the time."""
    before = metric(cluster, 3, _REJECTED, plane="control")
    host, _, port = cluster.brokers[3].address("CONTROL").rpartition(":")
    asked = MetadataRequest(topics=None).encode(12)
    frame = encode_request_header(ApiKey.METADATA, 12, 1, "attacker") + asked
    with dial(cluster, 3, "CONTROL") as peer:
        attackers = []
        for number in range(_ATTACKERS):
            attacker = socket.create_connection((host, int(port)), 15, (f"127.0.1.{1 + number % 16}", 0))
            attacker.sendall(len(frame).to_bytes(4) + frame)
            attackers.append(attacker)
            if not number % 20:
                answer = peer.ask(ApiKey.LEADER_AND_ISR, 7, LeaderAndIsrRequest(controller_id=3, controller_epoch=0))
                assert answer.error_code == Error.STALE_CONTROLLER_EPOCH
        for attacker in attackers:
            assert attacker.recv(1) == b""
            attacker.close()
    assert metric(cluster, 3, _REJECTED, plane="control") == before + _ATTACKERS


@pytest.mark.spec("C5")
def test_a_request_for_very_many_partitions_holds_no_plane(cluster: RoutedCluster) -> None:
    """Responses on the control plane and on another data connection are sent before the response for half a million
    partitions."""
    asked = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(_PARTITIONS)
    ]
    wide = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name="x", partitions=asked)])
    with dial(cluster, 1, "CLIENT") as client, dial(cluster, 1, "CLIENT") as other, dial(cluster, 1, "CONTROL") as peer:
        client.send(client.request(ApiKey.LIST_OFFSETS, 7, wide.encode(7)))
        answered = threading.Event()
        frames: list[bytes] = []

        def read() -> None:
            frames.append(client.frame())
            answered.set()

        reader = threading.Thread(target=read)
        reader.start()
        overtook = 0
        while not answered.is_set():
            peer.ask(ApiKey.LEADER_AND_ISR, 7, LeaderAndIsrRequest(controller_id=3, controller_epoch=0))
            other.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[]))
            overtook += 1
        reader.join()
    assert overtook >= 20
    assert len(frames[0]) > _PARTITIONS * 20, "every partition is answered"


@pytest.mark.spec("C2", "F1")
def test_an_old_controller_is_rejected(cluster: RoutedCluster) -> None:
    with dial(cluster, 1, "CONTROL") as wire:
        answer = wire.ask(ApiKey.LEADER_AND_ISR, 7, LeaderAndIsrRequest(controller_id=3, controller_epoch=0))
    assert answer.error_code == 11, "STALE_CONTROLLER_EPOCH"


@pytest.mark.spec("C4", "F4")
def test_control_requests_are_rejected_on_a_client_listener(cluster: RoutedCluster) -> None:
    forged: dict[str, Any] = {"controller_id": 3, "controller_epoch": 1_000_000, "broker_epoch": -1}
    with dial(cluster, 1, "CLIENT") as wire:
        for key, version, request in (
            (ApiKey.LEADER_AND_ISR, 7, LeaderAndIsrRequest(**forged)),
            (ApiKey.UPDATE_METADATA, 8, UpdateMetadataRequest(**forged)),
            (ApiKey.STOP_REPLICA, 4, StopReplicaRequest(**forged)),
        ):
            assert wire.ask(key, version, request).error_code == Error.CLUSTER_AUTHORIZATION_FAILED
        assert len(wire.ask(ApiKey.METADATA, 12, MetadataRequest()).brokers) == 3
