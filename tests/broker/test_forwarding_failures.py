"""F5, row by row: the controllers' behavior, over real sockets, and the response that the client receives.

The channel to the controller is the real one; the controllers at its other end are scripted. Every row must keep the
deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from signalbox.broker.api_request import CloseConnection, FinalResponse, RawResponse
from signalbox.broker.epoch_checks import LocalEpochs
from signalbox.broker.forwarding.forwarding import EnvelopeForwarder, ForwardingIds
from signalbox.broker.forwarding.forwarding_metrics import ForwardingMetrics
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address, Node
from signalbox.client.inter_broker.controller_channel import ControllerChannel
from signalbox.common.clock import SystemClock
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import decode_request_header, encode_response_header
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.envelope import EnvelopeResponse
from signalbox.security.principal import DefaultPrincipalBuilder
from tests.broker.handler_requests import request_of
from tests.client.loopback_cluster import LoopbackCluster

pytestmark = pytest.mark.spec("F5")

_DEADLINE_MS = 1_000  # of rows that must reach the deadline
_AMPLE_MS = 60_000  # of the other rows: they must not reach it on a busy machine
_SLACK_S = 30.0  # the machine may be busy; without a deadline the request would never end
_SETTINGS = ConnectionSettings(client_id="9", connect_timeout_ms=1_000, request_timeout_ms=10_000)

Script = Callable[[Any, int], Any]
CLOSED = "the connection is closed"


def returns(response: EnvelopeResponse) -> Script:
    return lambda request, version: response


def done(request: Any, version: int) -> EnvelopeResponse:
    """The controller decides: the inner response has the inner request's correlation id."""
    header, _ = decode_request_header(request.request_data)
    head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
    result = CreateTopicsResponse.CreatableTopicResult(name="t", num_partitions=4)
    return EnvelopeResponse(response_data=head + CreateTopicsResponse(topics=[result]).encode(header.api_version))


def another_clients_answer(request: Any, version: int) -> EnvelopeResponse:
    right = done(request, version).response_data
    assert right is not None
    return EnvelopeResponse(response_data=b"\0\0\0\x63" + right[4:])


def hangs_up(request: Any, version: int) -> None:
    """The loopback broker closes the connection."""


async def never(request: Any, version: int) -> Any:
    await asyncio.get_running_loop().create_future()


DENIES = returns(EnvelopeResponse(error_code=Error.NOT_CONTROLLER))


@dataclass(frozen=True)
class Row:
    """`scripts`: behavior of the brokers at the end of the channel, by node id. `looked_up`: the first controller.
    `sees`: the error of the client's request, CLOSED, or NONE. `counted`: the failure in this broker's metric."""

    what: str
    sees: Error | str
    scripts: Mapping[int, Script]
    looked_up: int | None = 1
    counted: Error | None = None
    takes_envelopes: bool = True
    also_logged: str = ""
    asked: Mapping[int, int] = field(default_factory=dict)  # requests by node id

    def __str__(self) -> str:
        return self.what


UNKNOWN, LATE = Error.UNKNOWN_SERVER_ERROR, Error.REQUEST_TIMED_OUT
ROWS = (
    Row("decides", Error.NONE, {1: done}, asked={1: 1}),
    Row("NOT_CONTROLLER, then another", Error.NONE, {1: DENIES, 2: done}, asked={1: 1, 2: 1}),
    Row("NOT_CONTROLLER for ever", LATE, {1: DENIES, 2: DENIES}, counted=LATE),
    Row("hangs up, then another", Error.NONE, {1: hangs_up, 2: done}, asked={2: 1}),
    Row("hangs up for ever", LATE, {1: hangs_up, 2: hangs_up}, counted=LATE),
    Row("returns nothing", LATE, {1: never}, counted=LATE, asked={1: 1}),
    Row("no controller", LATE, {1: done}, looked_up=None, counted=LATE, asked={1: 0}),
    Row("two of them decide", Error.NONE, {1: done, 2: done}, asked={1: 1, 2: 0}),
    Row(
        "CLUSTER_AUTHORIZATION_FAILED",
        UNKNOWN,
        {1: returns(EnvelopeResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED))},
        counted=Error.CLUSTER_AUTHORIZATION_FAILED,
        also_logged="BROKER_AUTHORIZATION_FAILURE",
        asked={1: 1},
    ),
    Row(
        "UNSUPPORTED_VERSION",
        CLOSED,
        {1: returns(EnvelopeResponse(error_code=Error.UNSUPPORTED_VERSION))},
        counted=Error.UNSUPPORTED_VERSION,
        asked={1: 1},
    ),
    Row(
        "PRINCIPAL_DESERIALIZATION_FAILURE",
        UNKNOWN,
        {1: returns(EnvelopeResponse(error_code=Error.PRINCIPAL_DESERIALIZATION_FAILURE))},
        counted=Error.PRINCIPAL_DESERIALIZATION_FAILURE,
        asked={1: 1},
    ),
    Row(
        "INVALID_REQUEST",
        UNKNOWN,
        {1: returns(EnvelopeResponse(error_code=Error.INVALID_REQUEST))},
        counted=Error.INVALID_REQUEST,
        asked={1: 1},
    ),
    Row(
        "an unknown error code",
        UNKNOWN,
        {1: returns(EnvelopeResponse(error_code=12345))},
        counted=UNKNOWN,
        asked={1: 1},
    ),
    Row("takes no Envelope", UNKNOWN, {1: done}, counted=Error.UNSUPPORTED_VERSION, takes_envelopes=False),
    Row(
        "no inner answer",
        UNKNOWN,
        {1: returns(EnvelopeResponse())},
        also_logged="does not contain the response",
        counted=UNKNOWN,
        asked={1: 1},
    ),
    Row(
        "half an inner answer",
        UNKNOWN,
        {1: returns(EnvelopeResponse(response_data=b"\0\0"))},
        counted=UNKNOWN,
        asked={1: 1},
    ),
    Row(
        "another client's answer",
        UNKNOWN,
        {1: another_clients_answer},
        also_logged="does not contain the response",
        counted=UNKNOWN,
        asked={1: 1},
    ),
)


class Lookup:
    """The controller that this broker knows: after an Envelope to broker 1 it is broker 2, if that one has a script."""

    def __init__(self, cluster: LoopbackCluster, row: Row) -> None:
        self._cluster = cluster
        self._row = row

    def active_controller(self) -> Node | None:
        if self._row.looked_up is None:
            return None
        tried = bool(self._cluster.brokers[1].seen(ApiKey.ENVELOPE))
        node_id = 2 if tried and 2 in self._row.scripts else self._row.looked_up
        return Node(node_id, Address(*self._cluster.brokers[node_id].address))


def life() -> LocalEpochs:
    epochs = LocalEpochs(9)
    epochs.registered(77)
    return epochs


@dataclass
class ForwardingResult:
    answer: FinalResponse
    took_s: float
    metrics: ForwardingMetrics
    failures: dict[str, float]
    asked: dict[int, int]


async def forward(row: Row) -> ForwardingResult:
    registry = MetricRegistry()
    metrics = ForwardingMetrics(registry, SystemClock(), lambda: 1)
    async with LoopbackCluster() as cluster:
        for node_id in (1, 2):
            broker = await cluster.add_broker(node_id)
            broker.scripts[ApiKey.ENVELOPE] = row.scripts.get(node_id, DENIES)
            if not row.takes_envelopes:
                broker.max_versions[ApiKey.ENVELOPE] = -1
        channel = ControllerChannel(Lookup(cluster, row), "cluster-A", _SETTINGS)
        channel.start()
        numbers = ForwardingIds(life())
        deadline_ms = _DEADLINE_MS if row.sees is LATE else _AMPLE_MS
        forwarder = EnvelopeForwarder(channel, DefaultPrincipalBuilder(), metrics, deadline_ms, numbers)
        wanted = CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t")])
        began = time.monotonic()
        response = await forwarder.forward(request_of(wanted, 7))
        took_s = time.monotonic() - began
        await channel.close()
        asked = {node_id: len(broker.seen(ApiKey.ENVELOPE)) for node_id, broker in cluster.brokers.items()}
    failures = {
        dict(sample.tags)["error"]: sample.value
        for sample in registry.samples()
        if sample.name.name == "ForwardingFailures"
    }
    return ForwardingResult(response, took_s, metrics, failures, asked)


def seen_by_client(response: FinalResponse) -> Error | str:
    if isinstance(response, CloseConnection):
        return CLOSED
    if isinstance(response, RawResponse):
        return Error.NONE
    assert isinstance(response, CreateTopicsResponse)
    [topic] = response.topics
    assert topic.name == "t"
    return Error.of(topic.error_code)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_client_sees(row: Row, caplog: pytest.LogCaptureFixture) -> None:
    result = asyncio.run(forward(row))
    assert seen_by_client(result.answer) == row.sees
    if row.sees is LATE:
        assert result.took_s >= _DEADLINE_MS / 1000 - 0.05, "it was not given up before its time"
        assert result.took_s < _DEADLINE_MS / 1000 + _SLACK_S
    assert result.failures == ({} if row.counted is None else {row.counted.name: 1})
    assert result.metrics.authorization_failures == (row.counted is Error.CLUSTER_AUTHORIZATION_FAILED)
    assert (result.metrics.total, result.metrics.in_flight) == (1, 0)
    assert row.also_logged in caplog.text
    assert {node_id: result.asked[node_id] for node_id in row.asked} == dict(row.asked)


@pytest.mark.parametrize("what", ["NOT_CONTROLLER for ever", "hangs up for ever"])
def test_permanent_failures_are_retried_with_a_backoff(what: str) -> None:
    row = next(row for row in ROWS if row.what == what)
    assert 2 <= sum(asyncio.run(forward(row)).asked.values()) <= _DEADLINE_MS / 25
