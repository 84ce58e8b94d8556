"""Refused identities: counted by listener and kind, logged once per interval, written to the audit trail (R3)."""

from __future__ import annotations

import logging

from signalbox.broker.api_request import ApiRequest
from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink
from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics

log = logging.getLogger(__name__)

_METRIC = MetricName("kafka.network", "SocketServer", "MisroutedConnections")
_LOG_INTERVAL_S = 10.0

Identity = tuple[str, int]


class MisrouteLog:
    """Everything that is told about a connection that meant somebody else."""

    def __init__(self, metrics: Metrics, audit: AuditSink, clock: Clock) -> None:
        self._metrics = metrics
        self._audit = audit
        self._clock = clock
        self._logged: dict[str, tuple[float, int]] = {}
        self.count = 0

    def refused(self, request: ApiRequest, expected: Identity, actual: Identity) -> None:
        """One refusal. `expected` is what the peer sent, `actual` what this node is."""
        context = request.context
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
                expected=f"{expected[0]}/{expected[1]}",
                actual=f"{actual[0]}/{actual[1]}",
            )
        )
        self._log(request, kind, expected, actual)

    def _log(self, request: ApiRequest, kind: str, expected: Identity, actual: Identity) -> None:
        context = request.context
        now = self._clock.monotonic()
        last, silent = self._logged.get(context.listener_name, (-_LOG_INTERVAL_S, 0))
        if now - last < _LOG_INTERVAL_S:
            self._logged[context.listener_name] = (last, silent + 1)
            return
        self._logged[context.listener_name] = (now, 0)
        log.warning(
            "misrouted connection refused: wrong %s on listener %s, client id %s at %s (connection %s) expected"
            " cluster %s node %d, this is cluster %s node %d; %d more since the last such line",
            kind,
            context.listener_name,
            request.header.client_id,
            context.client_address,
            context.connection_id,
            *expected,
            *actual,
            silent,
        )
