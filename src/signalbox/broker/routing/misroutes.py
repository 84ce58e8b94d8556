"""Misroutes: counted by listener and kind, logged once per interval and source, and audited (R3).

A probe of `signalbox doctor` or of a broker asks with a node id that no node has: a node that compares identities
rejects it. The probe reached the node that it meant, so it is counted apart, and is neither a warning nor an event.
"""

from __future__ import annotations

import logging

from signalbox.broker.api_request import ApiRequest
from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink
from signalbox.common.clock import Clock
from signalbox.common.ids import PROBE_NODE_ID
from signalbox.common.log_limiter import LogLimiter
from signalbox.common.metrics import MetricName, Metrics
from signalbox.common.visible_text import clip

log = logging.getLogger(__name__)

_METRIC = MetricName("signalbox.network", "SocketServer", "MisroutedConnections")
_PROBES = MetricName("signalbox.network", "SocketServer", "IdentityProbes")

Identity = tuple[str, int]

_SHOWN_CHARACTERS = 100  # of a cluster id or client id: a client may send 32 KiB before it has logged in


class MisrouteLog:
    """Counts, logs and audits connections of clients that meant another node or cluster."""

    def __init__(self, metrics: Metrics, audit: AuditSink, clock: Clock) -> None:
        self._metrics = metrics
        self._audit = audit
        self._limiter = LogLimiter(clock.monotonic)
        self._probe_limiter = LogLimiter(clock.monotonic)  # a probe must not hide the line of a misroute
        self.count = 0

    def rejected(self, request: ApiRequest, expected: Identity, actual: Identity) -> None:
        """Record one rejection. `expected` is the identity that the client sent, `actual` the identity of this node."""
        context = request.context
        if expected == (actual[0], PROBE_NODE_ID):
            self._probed(request)
            return
        kind = "cluster" if expected[0] != actual[0] else "node"
        self.count += 1
        self._metrics.counter(_METRIC, {"listener": context.listener_name, "kind": kind}).add()
        self._audit.record(
            AuditEvent(
                kind=AuditKind.MISROUTED,
                listener=context.listener_name,
                plane=context.plane,
                connection_id=context.connection_id,
                client_address=context.client_address,
                client_id=request.header.client_id or "",
                principal=str(context.principal),
                api="API_VERSIONS",
                api_version=request.header.api_version,
                correlation_id=request.header.correlation_id,
                error="REBOOTSTRAP_REQUIRED",
                reason=f"wrong {kind}",
                expected=f"{_shown(expected[0])}/{expected[1]}",
                actual=f"{actual[0]}/{actual[1]}",
            )
        )
        self._log(request, kind, expected, actual)

    def _probed(self, request: ApiRequest) -> None:
        context = request.context
        self._metrics.counter(_PROBES, {"listener": context.listener_name}).add()
        suppressed = self._probe_limiter.admit(context.listener_name, context.client_address)
        if suppressed is None:
            return
        log.info(
            "Identity probed (listener=%s, client id=%s, client address=%s, connection=%s): the node id of the probe"
            " was rejected, as it must be%s",
            context.listener_name,
            _shown(request.header.client_id or ""),
            context.client_address,
            context.connection_id,
            suppressed,
        )

    def _log(self, request: ApiRequest, kind: str, expected: Identity, actual: Identity) -> None:
        context = request.context
        suppressed = self._limiter.admit(context.listener_name, context.client_address)
        if suppressed is None:
            return
        log.warning(
            "Misrouted connection rejected (wrong %s, listener=%s, client id=%s, client address=%s, "
            "connection=%s): expected cluster %s node %d, this is cluster %s node %d%s",
            kind,
            context.listener_name,
            _shown(request.header.client_id or ""),
            context.client_address,
            context.connection_id,
            _shown(expected[0]),
            expected[1],
            *actual,
            suppressed,
        )


def _shown(text: str) -> str:
    return clip(text, _SHOWN_CHARACTERS)
