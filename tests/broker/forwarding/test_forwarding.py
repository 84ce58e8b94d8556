"""Forwarding, row by row of F5: the controller's response, and the response to the client."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from signalbox.broker.api_request import ApiRequest, CloseConnection, RawResponse
from signalbox.broker.client_quotas import NO_THROTTLING
from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.broker.forwarding.forwarding import EnvelopeForwarder, ForwardingIds, LocalAdminRequests
from signalbox.broker.forwarding.forwarding_metrics import ForwardingMetrics
from signalbox.broker.routes import ROUTES, Route
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.common.clock import ManualClock
from signalbox.common.ids import ForwardingId, decode_forwarding_id
from signalbox.common.metrics import NullMetrics
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.headers import encode_response_header
from signalbox.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.envelope import EnvelopeResponse
from signalbox.security.principal import DefaultPrincipalBuilder
from tests.broker.handler_requests import as_read, request_of

INNER = encode_response_header(ApiKey.CREATE_TOPICS, 7, 7) + CreateTopicsResponse().encode(7)


class Channel:
    """The channel to the controller: returns `response_or_error`, or raises it."""

    def __init__(self, response_or_error: EnvelopeResponse | Exception) -> None:
        self._response_or_error = response_or_error
        self.sent: list[tuple[bytes, bytes | None, bytes, int]] = []
        self.ids: list[ForwardingId | None] = []

    async def envelope(
        self,
        request_data: bytes,
        principal: bytes | None,
        client_address: bytes,
        timeout_ms: int,
        forwarding_id: bytes | None = None,
    ) -> Any:
        self.ids.append(decode_forwarding_id(forwarding_id))
        self.sent.append((request_data, principal, client_address, timeout_ms))
        if isinstance(self._response_or_error, Exception):
            raise self._response_or_error
        return self._response_or_error


def life() -> LocalEpochs:
    epochs = LocalEpochs(2)
    epochs.registered(77)
    return epochs


def request() -> ApiRequest:
    return request_of(CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t")]), 7)


def forwarded(response_or_error: EnvelopeResponse | Exception) -> tuple[Any, ForwardingMetrics, Channel]:
    channel, metrics = Channel(response_or_error), ForwardingMetrics(NullMetrics(), ManualClock(), lambda: 1)
    forwarder = EnvelopeForwarder(
        cast(ControllerChannel, channel), DefaultPrincipalBuilder(), metrics, 1234, ForwardingIds(life())
    )
    asked = request()
    return as_read(asked, asyncio.run(forwarder.forward(asked))), metrics, channel


@pytest.mark.spec("F3", "F5")
def test_the_inner_answer_is_passed_on_as_it_is() -> None:
    response, metrics, channel = forwarded(EnvelopeResponse(response_data=INNER))
    assert isinstance(response, RawResponse)
    assert response.payload == INNER
    [(data, principal, address, timeout_ms)] = channel.sent
    assert data == request().frame
    assert principal is not None
    assert str(DefaultPrincipalBuilder().deserialize(principal)) == "User:alice"
    assert (address, timeout_ms) == (b"\x0a\0\0\x07", 1234)
    assert channel.ids == [ForwardingId(2, 77, 1, 1)]
    assert (metrics.total, metrics.in_flight, metrics.authorization_failures) == (1, 0, 0)


@pytest.mark.spec("F5")
@pytest.mark.parametrize(
    ("response_or_error", "error"),
    [
        (KafkaError(Error.REQUEST_TIMED_OUT), Error.REQUEST_TIMED_OUT),
        (KafkaError(Error.UNSUPPORTED_VERSION), Error.UNKNOWN_SERVER_ERROR),  # it does not support Envelope
        (KafkaError(Error.SASL_AUTHENTICATION_FAILED), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(error_code=Error.PRINCIPAL_DESERIALIZATION_FAILURE), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(error_code=Error.INVALID_REQUEST), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(error_code=12345), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(response_data=None), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(response_data=b"\0"), Error.UNKNOWN_SERVER_ERROR),
        (EnvelopeResponse(response_data=b"\0\0\0\1" + INNER[4:]), Error.UNKNOWN_SERVER_ERROR),  # wrong correlation id
    ],
)
def test_errors(response_or_error: EnvelopeResponse | Exception, error: Error) -> None:
    response, metrics, _ = forwarded(response_or_error)
    assert [(topic.name, topic.error_code) for topic in response.topics] == [("t", error)]
    assert metrics.in_flight == 0


@pytest.mark.spec("F14")
@pytest.mark.parametrize("version", range(2, 8))
def test_the_controllers_throttle_time_is_applied_here(version: int) -> None:
    """KIP-219: the client is connected to this broker, so only this broker can mute the connection."""
    asked = request_of(CreateTopicsRequest(), version)
    inner = encode_response_header(ApiKey.CREATE_TOPICS, version, 7)
    inner += CreateTopicsResponse(throttle_time_ms=70_000).encode(version)
    channel = Channel(EnvelopeResponse(response_data=inner))
    numbers, metrics = ForwardingIds(life()), ForwardingMetrics(NullMetrics(), ManualClock(), lambda: 1)
    forwarder = EnvelopeForwarder(cast(ControllerChannel, channel), DefaultPrincipalBuilder(), metrics, 1234, numbers)
    response = asyncio.run(forwarder.forward(asked))
    assert NO_THROTTLING.settle(asked, response) == 70_000


@pytest.mark.spec("F5")
def test_a_version_the_controller_lacks_closes_the_connection() -> None:
    response, _, _ = forwarded(EnvelopeResponse(error_code=Error.UNSUPPORTED_VERSION))
    assert isinstance(response, CloseConnection)


@pytest.mark.spec("F5")
def test_a_rejected_broker_is_a_fault_of_the_cluster(caplog: pytest.LogCaptureFixture) -> None:
    _, metrics, _ = forwarded(EnvelopeResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED))
    assert metrics.authorization_failures == 1
    assert "BROKER_AUTHORIZATION_FAILURE" in caplog.text


def test_every_request_has_its_own_id_and_the_lowest_open_one() -> None:
    life = LocalEpochs(3)
    life.registered(10)
    numbers = ForwardingIds(life)
    first, second = numbers.begin(), numbers.begin()
    assert (first, second) == (ForwardingId(3, 10, 1, 1), ForwardingId(3, 10, 2, 1))
    numbers.end(second)
    assert numbers.begin() == ForwardingId(3, 10, 3, 1), "the first is still open"
    numbers.end(first)
    life.registered(11)
    assert numbers.begin() == ForwardingId(3, 11, 4, 3), "a new registration does not reset the numbers"


@pytest.mark.spec("F17")
@pytest.mark.parametrize(
    "body",
    [
        CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t")]),
        DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name="t")]),
        CreatePartitionsRequest(topics=[CreatePartitionsRequest.CreatePartitionsTopic(name="t", count=3)]),
    ],
)
def test_below_the_gate_topic_changes_are_always_the_controllers(body: Any) -> None:
    """As in Kafka, before authorization: the handler is not called."""
    response: Any = asyncio.run(LocalAdminRequests().forward(request_of(body, API_TABLE[body.api_key].max_version)))
    rows = [row for name in ("topics", "responses", "results") for row in getattr(response, name, ())]
    assert [(row.name, row.error_code) for row in rows] == [("t", Error.NOT_CONTROLLER)]


@pytest.mark.spec("F17")
@pytest.mark.parametrize("later", [True, False])
def test_below_the_gate_the_handler_returns_the_response_to_the_rest(later: bool) -> None:
    response = CreateAclsResponse()

    async def in_time() -> Any:
        return response

    row = next(row for row in ROUTES if row.api_key is ApiKey.CREATE_ACLS)
    requests = LocalAdminRequests()
    requests.install({int(row.api_key): Route(row, lambda request: in_time() if later else response)})
    assert asyncio.run(requests.forward(request_of(CreateAclsRequest(), 2))) is response
