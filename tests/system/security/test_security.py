"""Brokers that authenticate by SASL PLAIN: forged requests are rejected on every listener and change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaException

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_response_header, encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.envelope import EnvelopeRequest
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from signalbox.protocol.messages.stop_replica import StopReplicaRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import BROKERS, controller_id, metric
from tests.system.secured import LISTENERS, USERS, admin_of, create, envelope, topics_of
from tests.system.wire import dial, log_in
from tests.waiting import until

_REJECTED = "signalbox_network_socketserver_rejections_total"


@pytest.mark.spec("F2", "F3", "F4")
def test_changes_are_forwarded_between_brokers_that_log_in(secured: ProcessCluster) -> None:
    controller = until(lambda: max(controller_id(secured), 0), "a controller")
    other = next(node_id for node_id in BROKERS if node_id != controller)
    create(admin_of(secured, "admin", other), "forwarded", 3, 3)
    until(lambda: "forwarded" in topics_of(secured), "the topic")


@pytest.mark.spec("F4")
def test_forwarding_gives_a_client_no_right(secured: ProcessCluster) -> None:
    for node_id in BROKERS:
        with pytest.raises(KafkaException, match="_AUTHORIZATION_FAILED"):
            create(admin_of(secured, "mallory", node_id), "not-mallorys")
    assert "not-mallorys" not in topics_of(secured)


@pytest.mark.spec("F4", "F5", "C4")
@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("user", [None, "mallory", "deputy"])
def test_a_forged_envelope_changes_nothing(secured: ProcessCluster, listener: str, user: str | None) -> None:
    """Without authentication: closed. As a client on the brokers' listener: rejected with an error. On any other
    listener: closed."""
    topic = f"forged-{listener}-{user}"
    for node_id in BROKERS:
        with dial(secured, node_id, listener) as wire:
            if user is not None:
                assert log_in(wire, user, USERS[user]) == 0
            if listener == "REPLICATION" and user == "mallory":
                answer = wire.ask(ApiKey.ENVELOPE, 0, envelope(topic))
                assert answer.error_code == Error.CLUSTER_AUTHORIZATION_FAILED
                assert answer.response_data is None
            elif listener == "REPLICATION" and user == "deputy":
                # A super user is trusted as a broker is; its own rights permit the Envelope, not the principal inside.
                answer = wire.ask(ApiKey.ENVELOPE, 0, envelope(topic, "mallory"))
                assert_inner_rejected(answer)
            else:
                wire.send(wire.request(ApiKey.ENVELOPE, 0, envelope(topic).encode(0)))
                assert wire.closed()
    assert topic not in topics_of(secured)


def assert_inner_rejected(answer: Any) -> None:
    """Not the controller, or the inner request is rejected for the principal in the Envelope."""
    if answer.error_code == Error.NOT_CONTROLLER:
        return
    assert answer.error_code == Error.NONE
    _, offset = decode_response_header(answer.response_data, ApiKey.CREATE_TOPICS, 7)
    inner = CreateTopicsResponse.decode(answer.response_data, 7, offset)
    assert inner.topics[0].error_code in (Error.TOPIC_AUTHORIZATION_FAILED, Error.CLUSTER_AUTHORIZATION_FAILED)


@pytest.mark.spec("F4")
def test_garbled_envelopes_are_answered_in_kafkas_order(secured: ProcessCluster) -> None:
    controller = until(lambda: max(controller_id(secured), 0), "a controller")
    right = envelope("garbled", "mallory")
    cases: list[tuple[dict[str, bytes], Error]] = [
        ({"request_principal": b"\xff\xff", "client_host_address": b"1"}, Error.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"client_host_address": b"127.0.0.1", "request_data": b""}, Error.INVALID_REQUEST),
        ({"request_data": b"\x7f\x00\x00\x00"}, Error.UNSUPPORTED_VERSION),
        ({"request_data": encode_request_header(ApiKey.METADATA, 12, 1, "x")}, Error.INVALID_REQUEST),
        ({"request_data": encode_request_header(ApiKey.CREATE_TOPICS, 7, 1, "x") + b"\xff"}, Error.UNSUPPORTED_VERSION),
    ]
    with dial(secured, controller, "REPLICATION") as wire:
        assert log_in(wire, "broker", USERS["broker"]) == 0
        for wrong, error in cases:
            fields = {
                name: getattr(right, name) for name in ("request_data", "request_principal", "client_host_address")
            }
            answer = wire.ask(ApiKey.ENVELOPE, 0, EnvelopeRequest(**{**fields, **wrong}))
            assert (answer.error_code, answer.response_data) == (error, None), wrong
    assert "garbled" not in topics_of(secured)


@pytest.mark.spec("F15")
def test_a_brokers_login_changes_nothing_where_clients_speak(secured: ProcessCluster) -> None:
    """On client listeners it may describe; on the brokers' listener it may do what its rights allow."""
    new = CreateTopicsRequest.CreatableTopic(name="by-a-broker", num_partitions=1, replication_factor=1)
    wanted = CreateTopicsRequest(topics=[new], timeout_ms=5_000)
    for node_id in BROKERS:
        client = admin_of(secured, "broker", node_id)
        assert "by-a-broker" not in client.list_topics(timeout=10).topics
        with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
            create(client, "by-a-broker")
    with dial(secured, 1, "REPLICATION") as wire:
        assert log_in(wire, "broker", USERS["broker"]) == 0
        [created] = wire.ask(ApiKey.CREATE_TOPICS, 7, wanted).topics
        assert Error.of(created.error_code) is Error.NONE
    assert any(
        "Change by a broker's principal rejected (principal=User:broker, client listener=CLIENT)" in log
        for log in (broker.log_file.read_text() for broker in secured.brokers.values())
    )


@pytest.mark.spec("C2", "F4")
def test_a_client_cannot_speak_as_the_controller(secured: ProcessCluster) -> None:
    with dial(secured, 1, "CONTROL") as wire:
        assert log_in(wire, "mallory", USERS["mallory"]) == 0
        forged: dict[str, Any] = {"controller_id": 1, "controller_epoch": 1_000_000, "broker_epoch": -1}
        for key, version, request in (
            (ApiKey.LEADER_AND_ISR, 7, LeaderAndIsrRequest(**forged)),
            (ApiKey.UPDATE_METADATA, 8, UpdateMetadataRequest(**forged)),
            (ApiKey.STOP_REPLICA, 4, StopReplicaRequest(**forged)),
        ):
            answer = wire.ask(key, version, request)
            assert answer.error_code == Error.CLUSTER_AUTHORIZATION_FAILED
    create(admin_of(secured, "admin"), "still-governed", 1, 3)


@pytest.mark.spec("L7")
def test_a_wrong_password_ends_the_connection(secured: ProcessCluster) -> None:
    with dial(secured, 1, "CLIENT") as wire:
        assert log_in(wire, "admin", "guess") == Error.SASL_AUTHENTICATION_FAILED
        assert wire.closed()


@pytest.mark.spec("R3")
def test_what_was_rejected_is_counted(secured: ProcessCluster) -> None:
    before = metric(secured, 2, _REJECTED)
    with dial(secured, 2, "CLIENT") as wire:
        wire.send(wire.request(ApiKey.ENVELOPE, 0, envelope("counted").encode(0)))
        assert wire.closed()
    assert metric(secured, 2, _REJECTED) == before + 1


@pytest.mark.spec("F4")
def test_with_sasl_nothing_is_warned_about_without_it_the_start_warns(
    secured: ProcessCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert "cannot be distinguished from clients" not in secured.brokers[1].log_file.read_text()
    with ProcessCluster(tmp_path_factory.mktemp("open"), brokers=1) as cluster:
        log = cluster.brokers[1].log_file.read_text()
    assert "listener REPLICATION is PLAINTEXT: brokers cannot be distinguished from clients" in log
