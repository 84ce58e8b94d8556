"""Connections in the audit trail: one event when a peer got as far as sending requests, one when it left, and its
roll-ups before that."""

from __future__ import annotations

from signalbox.broker.audit_rollups import AuditRollups
from signalbox.common.audit_event import AuditEvent, AuditKind, AuditSink
from signalbox.network.connection import Connection


class AuditingWatcher:
    """`network/ports.ConnectionWatcher`."""

    def __init__(self, audit: AuditSink, rollups: AuditRollups) -> None:
        self._audit = audit
        self._rollups = rollups

    def opened(self, connection: Connection) -> None:
        self._audit.record(_event(AuditKind.CONNECTION_OPEN, connection, ""))

    def closed(self, connection: Connection, reason: str) -> None:
        self._rollups.close(connection.connection_id)
        self._audit.record(_event(AuditKind.CONNECTION_CLOSE, connection, reason))


def _event(kind: AuditKind, connection: Connection, reason: str) -> AuditEvent:
    context = connection.context
    header = connection.last_header
    return AuditEvent(
        kind=kind,
        listener=context.listener_name,
        plane=connection.listener.plane.name,
        connection_id=context.connection_id,
        client_address=context.client_address,
        client_id=(header.client_id or "") if header is not None else "",
        client_software=f"{context.client_software_name}/{context.client_software_version}",
        principal=str(context.principal),
        reason=reason,
    )
