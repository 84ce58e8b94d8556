"""Rejections: always counted, logged once per interval, kind and source address, written to the audit trail.

A peer that connects a million times must not fill the log: the first line after an interval has the number of
suppressed lines. Rejections that a client can repeat at will are counted in windows in the audit trail
(`rejection_windows.py`); every other event is written. The sink drops events if there are too many, and a gap in `seq`
shows it.
"""

from __future__ import annotations

import logging

from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink, clip_texts
from signalbox.common.clock import Clock
from signalbox.common.log_limiter import LogLimiter
from signalbox.common.metrics import MetricName, Metrics
from signalbox.network.quotas.rejection_windows import RejectionWindows
from signalbox.transport.tls.tls_failure import PLAINTEXT_ON_TLS, TLS_HANDSHAKE, TLS_ON_PLAINTEXT

_COUNTED_IN_WINDOWS = frozenset(
    {
        "too_many_connections",
        "connection_rate",
        "setup_timeout",
        TLS_HANDSHAKE,
        PLAINTEXT_ON_TLS,
        TLS_ON_PLAINTEXT,
        "garbled",
        "frame_size",
        "unknown_api",
        "unsupported_version",
        "api_not_on_listener",
        "illegal_sasl_state",
        "authentication_failed",
    }
)
_REJECTIONS = MetricName("signalbox.network", "SocketServer", "Rejections")


class Rejections:
    """One per socket server."""

    def __init__(self, audit: AuditSink, metrics: Metrics, clock: Clock) -> None:
        self._audit = audit
        self._metrics = metrics
        self._clock = clock
        self._log = logging.getLogger("signalbox.network.quotas.rejections")
        self._limiter = LogLimiter(clock.monotonic)
        self.windows = RejectionWindows(audit, clock)

    def note(self, kind: str, event: AuditEvent) -> None:
        """Count, log and audit a rejection. `kind` is one of a small, fixed set of words (it is a metric's tag);
        `event` has the details."""
        event.timestamp_ms = self._clock.now_ms()
        clip_texts(event)  # a window holds them for ten seconds
        self._metrics.counter(_REJECTIONS, {"listener": event.listener, "kind": kind}).add()
        if kind in _COUNTED_IN_WINDOWS:
            self.windows.record(kind, event)
        else:
            self._audit.record(event)
        self._log_once(kind, event)

    def _log_once(self, kind: str, event: AuditEvent) -> None:
        suppressed = self._limiter.admit((event.listener, kind), event.client_address)
        if suppressed is None:
            return
        details = event.listener, event.client_address, kind, event.reason, suppressed
        extra = {
            "rejection": kind,
            "client_address": event.client_address,
            "client_id": event.client_id,
            "api": event.api,
            "api_version": event.api_version,
            "connection_id": event.connection_id,
        }
        if event.kind is AuditKind.DENIED:
            self._log.warning(
                "Failed authentication (listener=%s, client address=%s, kind=%s): %s%s", *details, extra=extra
            )
        else:
            self._log.warning(
                "Connection rejected (listener=%s, client address=%s, kind=%s): %s%s", *details, extra=extra
            )
