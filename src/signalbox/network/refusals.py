"""What was turned away: counted always, logged once per interval and kind, written to the audit trail.

A peer that knocks a million times must not fill the log: the line that follows an interval says how many were left
out. Audit events are not thinned here; the sink drops them where they are too many, and the gap in `seq` shows it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink
from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics

LOG_INTERVAL_SECONDS = 10.0


@dataclass(slots=True)
class _Silence:
    until: float
    left_out: int = 0


class Refusals:
    """One per socket server."""

    def __init__(self, audit: AuditSink, metrics: Metrics, clock: Clock) -> None:
        self._audit = audit
        self._metrics = metrics
        self._clock = clock
        self._log = logging.getLogger("signalbox.network.refusals")
        self._silences: dict[tuple[str, str], _Silence] = {}

    def note(self, kind: str, event: AuditEvent) -> None:
        """`kind` is a short, closed set of words (it becomes a metric's tag); `event` says the rest."""
        event.timestamp_ms = self._clock.now_ms()
        self._metrics.counter(
            MetricName("kafka.network", "SocketServer", "Refusals"), {"listener": event.listener, "kind": kind}
        ).add()
        self._audit.record(event)
        self._log_once(kind, event)

    def _log_once(self, kind: str, event: AuditEvent) -> None:
        now = self._clock.monotonic()
        silence = self._silences.get((event.listener, kind))
        if silence is not None and now < silence.until:
            silence.left_out += 1
            return
        left_out = silence.left_out if silence is not None else 0
        self._silences[event.listener, kind] = _Silence(now + LOG_INTERVAL_SECONDS)
        verb = "denied" if event.kind is AuditKind.DENIED else "refused"
        self._log.warning(
            "%s on listener %s: %s%s%s",
            verb,
            event.listener,
            f"{event.client_address}: " if event.client_address else "",
            event.reason,
            f" ({left_out} more like it since the last line)" if left_out else "",
            extra={
                "refusal": kind,
                "client_address": event.client_address,
                "client_id": event.client_id,
                "api": event.api,
                "api_version": event.api_version,
                "connection_id": event.connection_id,
            },
        )
