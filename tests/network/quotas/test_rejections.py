from __future__ import annotations

import logging

import pytest

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.clock import ManualClock
from signalbox.common.log_limiter import INTERVAL_S
from signalbox.network.quotas.rejections import Rejections
from tests.network.serving import AuditRecorder, CountingMetrics

FORCED = "control_plane_forced"  # recorded one by one


@pytest.mark.spec("C4")
def test_everything_is_counted_and_audited_one_line_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    recorder, clock = AuditRecorder.__new__(AuditRecorder), ManualClock()
    recorder.events, recorder.counts, recorder.gauges = [], {}, {}
    recorder.arrived = _Nothing()  # type: ignore[assignment]
    rejections = Rejections(recorder, CountingMetrics(recorder), clock)
    with caplog.at_level(logging.WARNING, "signalbox.network.quotas.rejections"):
        for number in range(1000):
            rejections.note(
                "control_plane_forced", AuditEvent(kind=AuditKind.REJECTED, listener="CLIENT", reason=f"no {number}")
            )
        rejections.note(
            "control_plane_forced", AuditEvent(kind=AuditKind.REJECTED, listener="OTHER", reason="elsewhere")
        )
        rejections.note("login", AuditEvent(kind=AuditKind.DENIED, listener="CLIENT", reason="who?"))
        clock.advance(int(INTERVAL_S * 1000))
        rejections.note(FORCED, AuditEvent(kind=AuditKind.REJECTED, listener="CLIENT", reason="later"))
    assert [record.getMessage() for record in caplog.records] == [
        "Connection rejected (listener=CLIENT, client address=, kind=control_plane_forced): no 0",
        "Connection rejected (listener=OTHER, client address=, kind=control_plane_forced): elsewhere",
        "Failed authentication (listener=CLIENT, client address=, kind=login): who?",
        "Connection rejected (listener=CLIENT, client address=, kind=control_plane_forced): later"
        " (suppressed 999 similar lines from this source)",
    ]
    assert len(recorder.events) == 1003
    assert recorder.counts["Rejections", "CLIENT", FORCED] == 1001
    assert recorder.events[0].timestamp_ms == 1_700_000_000_000


def test_a_source_that_floods_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    recorder, clock = AuditRecorder.__new__(AuditRecorder), ManualClock()
    recorder.events, recorder.counts, recorder.gauges = [], {}, {}
    recorder.arrived = _Nothing()  # type: ignore[assignment]
    rejections = Rejections(recorder, CountingMetrics(recorder), clock)
    with caplog.at_level(logging.WARNING, "signalbox.network.quotas.rejections"):
        for address in ("10.0.0.7", "10.0.0.7", "10.0.0.8"):
            event = AuditEvent(kind=AuditKind.REJECTED, listener="CLIENT", client_address=address, reason="garbled")
            rejections.note("garbled", event)
    assert [record.getMessage() for record in caplog.records] == [
        "Connection rejected (listener=CLIENT, client address=10.0.0.7, kind=garbled): garbled",
        "Connection rejected (listener=CLIENT, client address=10.0.0.8, kind=garbled): garbled",
    ]


@pytest.mark.parametrize(
    "kind",
    [
        "too_many_connections",
        "garbled",
        "frame_size",
        "unknown_api",
        "unsupported_version",
        "api_not_on_listener",
        "illegal_sasl_state",
        "authentication_failed",
    ],
)
def test_rejections_that_a_client_can_repeat_are_counted_in_windows_in_the_audit_trail(kind: str) -> None:
    recorder, clock = AuditRecorder.__new__(AuditRecorder), ManualClock()
    recorder.events, recorder.counts, recorder.gauges = [], {}, {}
    recorder.arrived = _Nothing()  # type: ignore[assignment]
    rejections = Rejections(recorder, CountingMetrics(recorder), clock)
    for _ in range(100):
        event = AuditEvent(kind=AuditKind.REJECTED, listener="CLIENT", client_address="10.0.0.7", reason="why")
        rejections.note(kind, event)
    rejections.windows.close()
    assert [event.count for event in recorder.events] == [1, 99]
    assert recorder.counts["Rejections", "CLIENT", kind] == 100


class _Nothing:
    def set(self) -> None:
        """No task waits for it."""
