"""Rejected identities: counted, audited, logged once per interval (R3)."""

from __future__ import annotations

import logging

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.routing.misroutes import MisrouteLog
from signalbox.common.audit_event import AuditKind
from signalbox.common.clock import ManualClock
from signalbox.common.ids import PROBE_NODE_ID
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.handler_requests import RecordingAuditSink, request_of


@pytest.mark.spec("R3")
def test_each_rejection_is_counted_and_audited_and_logged_once_an_interval(caplog: pytest.LogCaptureFixture) -> None:
    registry, sink, clock = MetricRegistry(), RecordingAuditSink(), ManualClock()
    misroutes = MisrouteLog(registry, sink, clock)
    request = request_of(ApiVersionsRequest(), 5)
    misroutes.rejected(request, ("mine", 2), ("mine", 1))
    misroutes.rejected(request, ("theirs", 1), ("mine", 1))
    clock.advance(11_000)
    misroutes.rejected(request, ("theirs", 2), ("mine", 1))
    assert misroutes.count == 3
    counted = {sample.tags: sample.value for sample in registry.samples()}
    assert counted == {(("kind", "node"), ("listener", "CLIENT")): 1, (("kind", "cluster"), ("listener", "CLIENT")): 2}
    assert [(e.kind, e.expected, e.actual, e.error) for e in sink.events] == [
        (AuditKind.MISROUTED, "mine/2", "mine/1", "REBOOTSTRAP_REQUIRED"),
        (AuditKind.MISROUTED, "theirs/1", "mine/1", "REBOOTSTRAP_REQUIRED"),
        (AuditKind.MISROUTED, "theirs/2", "mine/1", "REBOOTSTRAP_REQUIRED"),
    ]
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert "client id=test, client address=10.0.0.7" in lines[0]
    assert "(suppressed 1 similar lines from this source)" in lines[1]


@pytest.mark.spec("R8")
def test_a_probe_is_no_misroute_and_hides_none(caplog: pytest.LogCaptureFixture) -> None:
    registry, sink = MetricRegistry(), RecordingAuditSink()
    misroutes = MisrouteLog(registry, sink, ManualClock())
    request = request_of(ApiVersionsRequest(), 5)
    with caplog.at_level(logging.INFO):
        misroutes.rejected(request, ("mine", PROBE_NODE_ID), ("mine", 1))
        misroutes.rejected(request, ("mine", PROBE_NODE_ID), ("mine", 1))
        misroutes.rejected(request, ("theirs", PROBE_NODE_ID), ("mine", 1))
    counted = {(sample.name.name, sample.tags): sample.value for sample in registry.samples()}
    assert counted == {
        ("IdentityProbes", (("listener", "CLIENT"),)): 2,
        ("MisroutedConnections", (("kind", "cluster"), ("listener", "CLIENT"))): 1,
    }
    assert [event.expected for event in sink.events] == [f"theirs/{PROBE_NODE_ID}"]
    assert [record.levelname for record in caplog.records] == ["INFO", "WARNING"]


@pytest.mark.spec("R3")
def test_an_endless_cluster_id_is_shown_in_part(caplog: pytest.LogCaptureFixture) -> None:
    sink = RecordingAuditSink()
    MisrouteLog(MetricRegistry(), sink, ManualClock()).rejected(
        request_of(ApiVersionsRequest(), 5), ("x" * 32_000, 2), ("mine", 1)
    )
    [line] = [record.getMessage() for record in caplog.records]
    assert len(line) < 400
    assert sink.events[0].expected == "x" * 100 + ".../2"
