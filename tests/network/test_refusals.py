from __future__ import annotations

import logging

import pytest

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.clock import ManualClock
from signalbox.network.refusals import LOG_INTERVAL_SECONDS, Refusals
from tests.network.serving import CountingMetrics, Trail


@pytest.mark.spec("C4")
def test_everything_is_counted_and_audited_one_line_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    trail, clock = Trail.__new__(Trail), ManualClock()
    trail.events, trail.counts, trail.gauges = [], {}, {}
    trail.arrived = _Nothing()  # type: ignore[assignment]
    refusals = Refusals(trail, CountingMetrics(trail), clock)
    with caplog.at_level(logging.WARNING, "signalbox.network.refusals"):
        for number in range(1000):
            refusals.note("garbled", AuditEvent(kind=AuditKind.REFUSED, listener="CLIENT", reason=f"no {number}"))
        refusals.note("garbled", AuditEvent(kind=AuditKind.REFUSED, listener="OTHER", reason="elsewhere"))
        refusals.note("login", AuditEvent(kind=AuditKind.DENIED, listener="CLIENT", reason="who?"))
        clock.advance(int(LOG_INTERVAL_SECONDS * 1000))
        refusals.note("garbled", AuditEvent(kind=AuditKind.REFUSED, listener="CLIENT", reason="later"))
    assert [record.getMessage() for record in caplog.records] == [
        "refused on listener CLIENT: no 0",
        "refused on listener OTHER: elsewhere",
        "denied on listener CLIENT: who?",
        "refused on listener CLIENT: later (999 more like it since the last line)",
    ]
    assert len(trail.events) == 1003
    assert trail.counts["Refusals", "CLIENT", "garbled"] == 1001
    assert trail.events[0].timestamp_ms == 1_700_000_000_000


class _Nothing:
    def set(self) -> None:
        """Nobody waits."""
