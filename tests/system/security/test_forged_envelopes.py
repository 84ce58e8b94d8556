"""Envelopes from a client that has a broker's password, or has not: whatever an Envelope contains, it changes nothing
that its principal may not change, and the broker returns Kafka's error or closes the connection (F4)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.envelope import EnvelopeRequest
from signalbox.security.principal import DefaultPrincipalBuilder, KafkaPrincipal
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import BROKERS, controller_id
from tests.system.secured import LISTENERS, USERS, envelope, topics_of
from tests.system.wire import Wire, dial, log_in
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("F4")]

ADMIN = DefaultPrincipalBuilder().serialize(KafkaPrincipal("User", "admin"))
HERE = bytes([127, 0, 0, 1])


@contextmanager
def as_broker(cluster: ProcessCluster) -> Iterator[Wire]:
    """A connection to the active controller on the brokers' listener, logged in as a broker."""
    controller = until(lambda: max(controller_id(cluster), 0), "a controller")
    with dial(cluster, controller, "REPLICATION") as wire:
        assert log_in(wire, "broker", USERS["broker"]) == 0
        yield wire


def inside(data: bytes, principal: bytes = ADMIN, address: bytes = HERE) -> EnvelopeRequest:
    return EnvelopeRequest(request_data=data, request_principal=principal, client_host_address=address)


def creation(topic: str, version: int = 7) -> bytes:
    """A CreateTopics request as it is in a frame."""
    new = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    body = CreateTopicsRequest(topics=[new], timeout_ms=5_000)
    return encode_request_header(ApiKey.CREATE_TOPICS, version, 1, "forger") + body.encode(7)


def error_of(wire: Wire, forged: EnvelopeRequest) -> Error:
    answer = wire.ask(ApiKey.ENVELOPE, 0, forged)
    assert (answer.response_data is None) == (answer.error_code != Error.NONE)
    return Error.of(answer.error_code)


def test_an_envelope_in_an_envelope_and_whatever_else_is_not_forwarded(secured: ProcessCluster) -> None:
    nested = encode_request_header(ApiKey.ENVELOPE, 0, 1, "forger") + envelope("nested").encode(0)
    with as_broker(secured) as wire:
        assert error_of(wire, inside(nested)) is Error.INVALID_REQUEST
        for key, row in API_TABLE.items():
            if not row.forwardable:
                head = encode_request_header(key, row.max_version, 1, "forger")
                assert error_of(wire, inside(head)) is Error.INVALID_REQUEST, row.name
    assert "nested" not in topics_of(secured)


def test_unsupported_versions(secured: ProcessCluster) -> None:
    with as_broker(secured) as wire:
        for key, row in API_TABLE.items():
            for version in (-1, row.min_version - 1, row.max_version + 1, 32767):
                head = encode_request_header(key, version, 1, "forger")
                assert error_of(wire, inside(head + bytes(64))) is Error.UNSUPPORTED_VERSION, (row.name, version)
        assert error_of(wire, inside(encode_request_header(12_345, 0, 1, "forger"))) is Error.UNSUPPORTED_VERSION


def test_a_request_cut_short_anywhere(secured: ProcessCluster) -> None:
    complete = creation("cut-short")
    with as_broker(secured) as wire:
        for length in range(len(complete)):
            assert error_of(wire, inside(complete[:length])) is Error.UNSUPPORTED_VERSION, length
    assert "cut-short" not in topics_of(secured)


def test_what_follows_the_request_is_ignored_as_kafka_does(secured: ProcessCluster) -> None:
    with as_broker(secured) as wire:
        assert error_of(wire, inside(creation("trailing") + creation("smuggled"))) is Error.NONE
    until(lambda: "trailing" in topics_of(secured), "the topic")
    assert "smuggled" not in topics_of(secured)


@pytest.mark.parametrize(
    "principal",
    [
        b"",
        b"\0",
        b"\0\0",
        ADMIN[:-4],
        b"\0\1" + ADMIN[2:],
        b"\xff\xff" + ADMIN[2:],
        b"User:admin",
    ],
)
def test_a_principal_that_is_none(secured: ProcessCluster, principal: bytes) -> None:
    with as_broker(secured) as wire:
        error = error_of(wire, inside(creation("nobodys"), principal))
        assert error is Error.PRINCIPAL_DESERIALIZATION_FAILURE
        # The principal is checked before everything else that is wrong.
        assert error_of(wire, inside(b"", principal, b"1")) is error
    assert "nobodys" not in topics_of(secured)


@pytest.mark.parametrize("length", [0, 3, 5, 15, 17, 4_096])
def test_an_address_that_is_none(secured: ProcessCluster, length: int) -> None:
    with as_broker(secured) as wire:
        assert error_of(wire, inside(creation("from-nowhere"), address=bytes(length))) is Error.INVALID_REQUEST
    assert "from-nowhere" not in topics_of(secured)


def test_a_claimed_broker_principal_gives_no_right(secured: ProcessCluster) -> None:
    """In an Envelope from a user without CLUSTER_ACTION, on every broker."""
    for node_id in BROKERS:
        with dial(secured, node_id, "REPLICATION") as wire:
            assert log_in(wire, "mallory", USERS["mallory"]) == 0
            assert error_of(wire, envelope("claimed", "broker")) is Error.CLUSTER_AUTHORIZATION_FAILED
    assert "claimed" not in topics_of(secured)


@pytest.mark.parametrize("listener", [each for each in LISTENERS if each != "REPLICATION"])
def test_a_brokers_password_gives_no_right_on_other_listeners(secured: ProcessCluster, listener: str) -> None:
    """Only the privileged listener accepts Envelopes, from any sender."""
    for node_id in BROKERS:
        with dial(secured, node_id, listener) as wire:
            assert log_in(wire, "broker", USERS["broker"]) == 0
            wire.send(wire.request(ApiKey.ENVELOPE, 0, envelope(f"stolen-{listener}").encode(0)))
            assert wire.closed()
    assert f"stolen-{listener}" not in topics_of(secured)
