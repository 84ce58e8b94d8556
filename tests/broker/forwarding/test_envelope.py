"""The inner request of an Envelope, and Kafka's errors for an invalid one, in Kafka's order."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.forwarding.envelope import unwrap
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.envelope import EnvelopeRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.principal import DefaultPrincipalBuilder, KafkaPrincipal
from tests.broker.handler_requests import context, request_of

SERDE = DefaultPrincipalBuilder()
ALICE = SERDE.serialize(KafkaPrincipal("User", "alice"))
HERE = b"\x0a\0\0\x09"
CREATE = CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t")])


def inner(key: int = ApiKey.CREATE_TOPICS, version: int = 7, body: bytes | None = None) -> bytes:
    header = encode_request_header(key, version, 99, "client")
    return header + (CREATE.encode(7) if body is None else body)


def decode(api_key: int, frame: bytes | memoryview, version: int, offset: int) -> Any:
    return API_TABLE[api_key].request.decode_prefix(frame, version, offset)[0]


def opened(data: bytes, principal: bytes | None = ALICE, address: bytes = HERE) -> Any:
    envelope = EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=address)
    broker = context("broker", "REPLICATION", privileged=True)
    return unwrap(request_of(envelope, 0, broker), decode, SERDE)


def test_the_inner_request_keeps_its_header_and_its_asker() -> None:
    request = opened(inner())
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
    request = opened(inner(), principal=None)
    assert str(request.context.principal) == str(request.context.forwarding_principal) == "User:broker"


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (b"\0" * 15 + b"\1", "::1"),
        (b"\0" * 10 + b"\xff\xff" + HERE, "10.0.0.9"),  # ACLs match an IPv4 peer by its IPv4 address
    ],
)
def test_addresses_of_sixteen_bytes(address: bytes, text: str) -> None:
    assert opened(inner(), address=address).context.client_address == text


BAD = [
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


@pytest.mark.parametrize(("data", "principal", "address", "error"), BAD)
def test_what_is_wrong(data: bytes, principal: bytes | None, address: bytes, error: Error) -> None:
    with pytest.raises(KafkaError) as rejected:
        opened(data, principal, address)
    assert rejected.value.error is error
