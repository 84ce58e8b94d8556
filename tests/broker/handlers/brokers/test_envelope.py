"""Envelopes at the active controller: which senders are accepted, and the rights of the inner request (F3, F4).
At the end `unwrap`: the errors of a malformed Envelope, in Kafka's order."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.api_request import CloseConnection
from signalbox.broker.handlers.brokers.envelope import EnvelopeHandler, unwrap
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import decode_response_header, encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.envelope import EnvelopeRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.principal import DefaultPrincipalBuilder, KafkaPrincipal
from tests.broker.handler_requests import ALLOW_ALL, RecordingAuditSink, acl, context, request_of
from tests.broker.handlers.running_broker import RunningBroker

SERDE = DefaultPrincipalBuilder()
BROKERS = acl(("broker", "CLUSTER_ACTION", "cluster"))


def envelope(topic: str, key: int = ApiKey.CREATE_TOPICS) -> EnvelopeRequest:
    wanted = CreateTopicsRequest(
        topics=[CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)], timeout_ms=5000
    )
    return EnvelopeRequest(
        request_data=encode_request_header(key, 7, 99, "client") + wanted.encode(7),
        request_principal=SERDE.serialize(KafkaPrincipal("User", "alice")),
        client_host_address=b"\x0a\0\0\x09",
    )


class Inactive:
    is_active = False

    async def handle(self, api_key: int, request: Any, context: Any) -> Any:
        raise AssertionError("never asked")


def ask(
    running_broker: RunningBroker, body: Any, authorizer: Any = BROKERS, **more: Any
) -> tuple[Any, RecordingAuditSink]:
    sink = RecordingAuditSink()
    controller = more.pop("controller", running_broker.components.controller)
    handler = EnvelopeHandler(running_broker.components.router, controller, authorizer, SERDE, sink)
    who = context(more.pop("principal", "broker"), "REPLICATION", **{"privileged": True, **more})
    return running_broker.answer(handler, request_of(body, 0, who)), sink


@pytest.mark.spec("F3")
def test_the_inner_answer_travels_back_with_its_own_header(running_broker: RunningBroker) -> None:
    response, sink = ask(running_broker, envelope("e-1"))
    assert (response.error_code, sink.events) == (0, [])
    correlation_id, offset = decode_response_header(response.response_data, ApiKey.CREATE_TOPICS, 7)
    inner = CreateTopicsResponse.decode(response.response_data, 7, offset)
    assert correlation_id == 99
    assert [(topic.name, topic.error_code) for topic in inner.topics] == [("e-1", 0)]


@pytest.mark.spec("F14")
def test_what_an_envelope_carried_is_audited_as_what_it_is(
    running_broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = RecordingAuditSink()
    monkeypatch.setattr(running_broker.components.telemetry.audit, "record", audit.record)
    ask(running_broker, envelope("e-audited"))
    # The broker's own connections and requests may come meanwhile, the creation of its audit topic too.
    [event] = [event for event in audit.events if event.client_address == "10.0.0.9"]
    assert (event.kind, event.api, event.resource, event.error) == ("admin", "CREATE_TOPICS", "e-audited", "")
    assert (event.principal, event.forwarding_principal) == ("User:alice", "User:broker")
    assert (event.client_id, event.correlation_id) == ("client", 99)


@pytest.mark.spec("F4")
def test_a_listener_that_is_not_privileged_closes_and_changes_nothing(running_broker: RunningBroker) -> None:
    response, sink = ask(running_broker, envelope("e-2"), ALLOW_ALL, privileged=False)
    assert isinstance(response, CloseConnection)
    assert [event.kind for event in sink.events] == ["rejected"]
    assert "e-2" not in running_broker.components.cache.image.topics


@pytest.mark.spec("F4")
def test_a_forged_envelope_is_rejected_on_the_privileged_listener_too(running_broker: RunningBroker) -> None:
    response, sink = ask(running_broker, envelope("e-3"), principal="mallory")
    assert (response.error_code, response.response_data) == (Error.CLUSTER_AUTHORIZATION_FAILED, None)
    assert sink.events[0].principal == "User:mallory"
    assert "e-3" not in running_broker.components.cache.image.topics


def test_off_the_controller_the_right_is_looked_at_first(running_broker: RunningBroker) -> None:
    response, _ = ask(running_broker, envelope("e-4"), controller=Inactive())
    assert response.error_code == Error.NOT_CONTROLLER
    response, _ = ask(running_broker, envelope("e-4"), controller=Inactive(), principal="mallory")
    assert response.error_code == Error.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (EnvelopeRequest(request_principal=b"?"), Error.PRINCIPAL_DESERIALIZATION_FAILURE),
        (EnvelopeRequest(request_principal=SERDE.serialize(KafkaPrincipal("User", "a"))), Error.INVALID_REQUEST),
        (envelope("e-5", ApiKey.METADATA), Error.INVALID_REQUEST),
        (envelope("e-5", 12345), Error.UNSUPPORTED_VERSION),
    ],
)
def test_what_is_wrong_inside(running_broker: RunningBroker, body: Any, error: Error) -> None:
    response, sink = ask(running_broker, body)
    assert (response.error_code, response.response_data) == (error, None)
    assert len(sink.events) == 1


ALICE = SERDE.serialize(KafkaPrincipal("User", "alice"))
HERE = b"\x0a\0\0\x09"
CREATE = CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t")])


def inner(key: int = ApiKey.CREATE_TOPICS, version: int = 7, body: bytes | None = None) -> bytes:
    header = encode_request_header(key, version, 99, "client")
    return header + (CREATE.encode(7) if body is None else body)


def decode(api_key: int, frame: bytes | memoryview, version: int, offset: int) -> Any:
    return API_TABLE[api_key].request.decode_prefix(frame, version, offset)[0]


def unwrapped(data: bytes, principal: bytes | None = ALICE, address: bytes = HERE) -> Any:
    envelope = EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=address)
    broker = context("broker", "REPLICATION", privileged=True)
    return unwrap(request_of(envelope, 0, broker), decode, SERDE)


def test_the_inner_request_keeps_its_header_and_its_asker() -> None:
    request = unwrapped(inner())
    assert request.header == (ApiKey.CREATE_TOPICS, 7, 99, "client")
    assert request.body == CREATE
    assert str(request.context.principal) == "User:alice"
    assert str(request.context.forwarding_principal) == "User:broker"
    assert (request.context.client_address, request.context.client_address_bytes) == ("10.0.0.9", HERE)
    assert (request.context.listener_name, request.context.privileged) == ("REPLICATION", True)
    assert request.forwarded_by == "User:broker"
    assert request.context.request_type == ApiKey.CREATE_TOPICS
    assert bytes(request.frame) == inner()


@pytest.mark.spec("F15")
def test_without_a_principal_the_broker_asks_for_itself() -> None:
    request = unwrapped(inner(), principal=None)
    assert str(request.context.principal) == str(request.context.forwarding_principal) == "User:broker"
    assert (request.own_of_broker, unwrapped(inner()).own_of_broker) == (True, False)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (b"\0" * 15 + b"\1", "::1"),
        (b"\0" * 10 + b"\xff\xff" + HERE, "10.0.0.9"),  # ACLs match an IPv4 peer by its IPv4 address
    ],
)
def test_addresses_of_sixteen_bytes(address: bytes, text: str) -> None:
    assert unwrapped(inner(), address=address).context.client_address == text


MALFORMED = [
    # order of checks: principal, address, header, whether the API may be forwarded, body
    (b"", b"\0", b"", Error.PRINCIPAL_DESERIALIZATION_FAILURE),
    (b"", b"", b"", Error.PRINCIPAL_DESERIALIZATION_FAILURE),
    (b"", b"\0\1" + ALICE[2:], HERE, Error.PRINCIPAL_DESERIALIZATION_FAILURE),
    (b"", ALICE, b"", Error.INVALID_REQUEST),
    (b"", ALICE, HERE + b"\0", Error.INVALID_REQUEST),
    (b"", ALICE, HERE, Error.UNSUPPORTED_VERSION),
    (inner(12345), ALICE, HERE, Error.UNSUPPORTED_VERSION),
    (inner(-1), ALICE, HERE, Error.UNSUPPORTED_VERSION),
    (inner(version=99), ALICE, HERE, Error.UNSUPPORTED_VERSION),
    (inner(version=1), ALICE, HERE, Error.UNSUPPORTED_VERSION),
    (inner(ApiKey.METADATA, 12, MetadataRequest().encode(12)), ALICE, HERE, Error.INVALID_REQUEST),
    (inner(ApiKey.ENVELOPE, 0, b""), ALICE, HERE, Error.INVALID_REQUEST),
    (inner(body=b"\xff\xff"), ALICE, HERE, Error.UNSUPPORTED_VERSION),
]


@pytest.mark.parametrize(("data", "principal", "address", "error"), MALFORMED)
def test_the_order_of_errors(data: bytes, principal: bytes | None, address: bytes, error: Error) -> None:
    with pytest.raises(KafkaError) as rejected:
        unwrapped(data, principal, address)
    assert rejected.value.error is error
