"""Every completed request: metrics always, audit events as the route table says."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.api_request import ApiRequest, CloseConnection, RawResponse
from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.metrics.request_metrics import RequestMetrics
from signalbox.broker.metrics.request_observer import AuditingObserver
from signalbox.broker.routes import ROUTES
from signalbox.common.audit_event import AUDIT_TOPIC, AuditKind
from signalbox.common.clock import ManualClock
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from signalbox.protocol.messages.produce import ProduceRequest, ProduceResponse
from tests.broker.handler_requests import RecordingAuditSink, context, request_of

BROKER: dict[str, Any] = {"listener": "REPLICATION", "inter_broker": True}
CREATE = CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name="t")])
FAILED = CreateTopicsResponse(topics=[CreateTopicsResponse.CreatableTopicResult(name="t", error_code=36)])


def observed(request: ApiRequest, response: Any) -> tuple[list[Any], float]:
    """The audit events of one request (roll-ups flushed), and the number of requests in the metrics."""
    registry, sink = MetricRegistry(), RecordingAuditSink()
    rollups = AuditRollups(sink, ManualClock())
    row = next(row for row in ROUTES if row.api_key == request.header.api_key)
    AuditingObserver(RequestMetrics(registry), rollups, sink).observe(request, row, response, 10, 0.002)
    rollups.flush()
    return sink.events, next(s.value for s in registry.samples() if s.name.name == "RequestsPerSec")


def produce(*topics: str, who: dict[str, Any] | None = None) -> ApiRequest:
    data = [ProduceRequest.TopicProduceData(name=name) for name in topics]
    return request_of(ProduceRequest(acks=1, topic_data=data), 9, context(**(who or {})))


def test_an_admin_request_is_an_event_of_its_own() -> None:
    [event], count = observed(request_of(CREATE, 7), FAILED)
    assert (event.kind, event.api, event.resource, event.error) == (
        AuditKind.ADMIN,
        "CREATE_TOPICS",
        "t",
        "TOPIC_ALREADY_EXISTS",
    )
    assert (event.correlation_id, event.duration_us, event.forwarding_principal, count) == (7, 2000, "", 1)


@pytest.mark.parametrize("response", [RawResponse(b"x"), CloseConnection("negotiate again"), FAILED])
def test_a_forwarded_request_is_recorded_as_forwarded_whatever_the_response(response: Any) -> None:
    request = request_of(CREATE, 7)
    request.was_forwarded = True
    [event], _ = observed(request, response)
    assert event.kind == AuditKind.FORWARDED


@pytest.mark.spec("F14")
def test_on_the_controller_the_broker_is_named_beside_the_asker() -> None:
    request = request_of(CREATE, 7)
    request.forwarded_by = "User:broker"
    [event], _ = observed(request, FAILED)
    assert (event.principal, event.forwarding_principal) == ("User:alice", "User:broker")


@pytest.mark.parametrize(
    ("own_of_broker", "response", "events"),
    [
        (True, FAILED, 0),  # another broker was faster
        (False, FAILED, 1),
        (True, CreateTopicsResponse(topics=[CreateTopicsResponse.CreatableTopicResult(name="t")]), 1),
        (True, CreateTopicsResponse(topics=[CreateTopicsResponse.CreatableTopicResult(name="t", error_code=38)]), 1),
    ],
)
def test_a_broker_that_creates_what_exists_is_no_event(own_of_broker: bool, response: Any, events: int) -> None:
    request = request_of(CREATE, 7)
    request.forwarded_by, request.own_of_broker = "User:broker", own_of_broker
    assert len(observed(request, response)[0]) == events


def test_the_frequent_ones_are_rolled_up_with_their_errors() -> None:
    [event], _ = observed(request_of(HeartbeatRequest(group_id="g"), 4), HeartbeatResponse(error_code=25))
    assert (event.kind, event.api, event.count, event.error_count) == (AuditKind.ROLLUP, "HEARTBEAT", 1, 1)


def test_what_came_forwarded_is_rolled_up_where_its_client_is_connected() -> None:
    request = request_of(HeartbeatRequest(group_id="g"), 4)
    request.forwarded_by = "User:broker"
    assert observed(request, HeartbeatResponse()) == ([], 1)


def test_alter_partition_leaves_only_metrics() -> None:
    events, count = observed(request_of(AlterPartitionRequest(), 3), AlterPartitionResponse())
    assert (events, count) == ([], 1)


@pytest.mark.parametrize(
    ("request_", "audited"),
    [
        (produce(AUDIT_TOPIC, who=BROKER), False),  # the audit trail's own batches
        (produce(AUDIT_TOPIC), True),  # a client that writes into the audit topic
        (produce("t", AUDIT_TOPIC), True),
        (produce("t", AUDIT_TOPIC, who=BROKER), True),
        (produce(who=BROKER), True),
    ],
)
def test_only_the_audit_trails_own_batches_are_not_audited(request_: ApiRequest, audited: bool) -> None:
    events, _ = observed(request_, ProduceResponse())
    assert bool(events) == audited


@pytest.mark.parametrize(("who", "audited"), [(BROKER, False), ({}, True)])
def test_only_brokers_fetch_as_followers(who: dict[str, Any], audited: bool) -> None:
    for body, version in (
        (FetchRequest(replica_id=2), 12),
        (FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=2)), 17),
    ):
        events, _ = observed(request_of(body, version, context(**who)), FetchResponse())
        assert bool(events) == audited


def test_a_consumer_on_the_brokers_listener_is_audited() -> None:
    events, _ = observed(request_of(FetchRequest(), 12, context(**BROKER)), FetchResponse())
    assert len(events) == 1
