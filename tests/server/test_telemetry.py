"""The metrics and the audit trail of a node."""

from __future__ import annotations

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.clock import ManualClock
from signalbox.server.telemetry import Telemetry
from tests.common.scheduling.schedulers import ImmediateScheduler
from tests.configuration.settings import config_of


def test_a_disabled_audit_trail_records_nothing() -> None:
    for enabled, last_seq in (("true", 0), ("false", -1)):
        telemetry = Telemetry.begin(config_of(signalbox__audit__enable=enabled), ManualClock(), ImmediateScheduler())
        telemetry.audit.record(AuditEvent(kind=AuditKind.ADMIN))
        assert telemetry.audit.last_seq == last_seq
