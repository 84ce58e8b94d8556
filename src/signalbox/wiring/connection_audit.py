"""A connection as the broker sees it come and go: its software is counted while it is there, and at its end its
roll-ups are written, right before network's own closing event.

That it came and went is recorded by network itself; here nothing is written twice.
"""

from __future__ import annotations

from signalbox.broker.audit_rollups import AuditRollups
from signalbox.broker.client_software import ClientSoftware
from signalbox.network.connection import Connection


class ConnectionEnds:
    """`network/ports.ConnectionWatcher`."""

    def __init__(self, rollups: AuditRollups, software: ClientSoftware) -> None:
        self._rollups = rollups
        self._software = software

    def opened(self, connection: Connection) -> None:
        self._software.opened(connection.context)

    def closed(self, connection: Connection, reason: str) -> None:
        self._software.closed(connection.context)
        self._rollups.close(connection.connection_id)
