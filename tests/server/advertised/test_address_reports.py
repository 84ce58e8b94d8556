"""Each change of a state once: in the log, in the audit trail, in the metrics."""

from __future__ import annotations

import logging

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.client.connection.node import Identity
from signalbox.common.audit_event import AuditKind
from signalbox.server.advertised.address_reports import AddressReports
from signalbox.server.advertised.address_states import AddressState, RouteState
from tests.broker.handler_requests import RecordingAuditSink
from tests.metric_values import metric_values

pytestmark = pytest.mark.spec("R9")


def row(state: RouteState, node_id: int = 1, **fields: str) -> AddressState:
    return AddressState(node_id=node_id, listener="CLIENT", address=f"h:{node_id}", state=state, **fields)


VERIFIED = row(RouteState.VERIFIED)
UNVERIFIED = row(RouteState.UNVERIFIED, code="NO_RESPONSE", text="it is silent")
WRONG = row(
    RouteState.WRONG, code="WRONG_NODE", text="node 2 responds for node 1", key="advertised.listeners", value="h:7",
    actual="C/2",
)  # fmt: skip


def test_each_change_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    registry, sink = MetricRegistry(), RecordingAuditSink()
    reports = AddressReports(Identity("C", 1), registry, sink)
    for found in (VERIFIED, VERIFIED, UNVERIFIED, WRONG, WRONG, VERIFIED):
        reports.checked({(1, "CLIENT"): found})
    where = "(listener=CLIENT, broker=1, address=h:1"
    assert [(one.levelno, one.getMessage()) for one in caplog.records] == [
        (logging.INFO, f"Advertised address not verified {where}, code=NO_RESPONSE): it is silent"),
        (
            logging.WARNING,
            f"Advertised address leads to another node {where}, code=WRONG_NODE): node 2 responds for node 1"
            ": set advertised.listeners to h:7",
        ),
        (logging.INFO, f"Advertised address verified {where})"),
    ]
    assert [(one.kind, one.target_node, one.resource, one.listener) for one in sink.events] == [
        (AuditKind.ADVERTISED_ADDRESS, 1, "h:1", "CLIENT")
    ] * 3
    assert [(one.error, one.expected, one.actual, one.reason) for one in sink.events] == [
        ("NO_RESPONSE", "C/1", "", "unverified: it is silent"),
        ("WRONG_NODE", "C/1", "C/2", "wrong: node 2 responds for node 1"),
        ("", "C/1", "", "verified"),
    ]
    assert metric_values(registry)[("Checks",)] == 6


def test_the_metric_has_the_addresses_of_the_last_check() -> None:
    registry = MetricRegistry()
    reports = AddressReports(Identity("C", 1), registry, RecordingAuditSink())
    reports.checked({(1, "CLIENT"): VERIFIED, (2, "CLIENT"): row(RouteState.WRONG, 2)})
    assert metric_values(registry) == {("Checks",): 1, ("State", "1", "CLIENT"): 0, ("State", "2", "CLIENT"): 2}
    reports.checked({(1, "CLIENT"): UNVERIFIED})
    assert metric_values(registry) == {("Checks",): 2, ("State", "1", "CLIENT"): 1}
    reports.forget()
    assert metric_values(registry) == {("Checks",): 2}


def test_a_certificate_that_ends_is_reported_although_the_node_is_right(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    reports = AddressReports(Identity("C", 1), MetricRegistry(), RecordingAuditSink())
    reports.checked({(1, "CLIENT"): row(RouteState.VERIFIED, code="CERTIFICATE_EXPIRED", text="it has expired")})
    assert caplog.messages == [
        "Advertised address verified (listener=CLIENT, broker=1, address=h:1): CERTIFICATE_EXPIRED, it has expired"
    ]


def test_another_reason_for_the_same_state_is_no_change_and_another_node_is_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The code of a wrong address depends on what was seen of other addresses, that of a silent one varies."""
    caplog.set_level(logging.INFO)
    sink = RecordingAuditSink()
    reports = AddressReports(Identity("C", 1), MetricRegistry(), sink)
    crossed = row(RouteState.WRONG, code="CROSSED", text="they are exchanged", actual="C/2")
    other = row(RouteState.WRONG, code="WRONG_NODE", text="node 3 responds", actual="C/3")
    silent = row(RouteState.UNVERIFIED, code="TIMED_OUT", text="it is silent")
    for state in (WRONG, crossed, WRONG, other, UNVERIFIED, silent, UNVERIFIED):
        reports.checked({(1, "CLIENT"): state})
    assert [event.actual for event in sink.events] == ["C/2", "C/3", ""]
    assert len(caplog.messages) == 3
    assert reports.states[1, "CLIENT"].code == "NO_RESPONSE"
