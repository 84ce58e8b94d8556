"""Watches connections for the broker: the client's software is counted while a connection is open, and the connection's
roll-ups are written when it closes, immediately before the network's own event.

The network package itself records that a connection opened or closed; that is not repeated here.
"""

from __future__ import annotations

from signalbox.broker.audit.audit_rollups import AuditRollups
from signalbox.broker.metrics.client_software import ClientSoftware
from signalbox.network.connection import Connection


class ConnectionCloseObserver:
    """Implements `network/ports.ConnectionWatcher`."""

    def __init__(self, rollups: AuditRollups, software: ClientSoftware) -> None:
        self._rollups = rollups
        self._software = software

    def opened(self, connection: Connection) -> None:
        self._software.opened(connection.context)

    def closed(self, connection: Connection, reason: str) -> None:
        self._software.closed(connection.context)
        self._rollups.close(connection.connection_id)
