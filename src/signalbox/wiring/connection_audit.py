"""The end of a connection in the audit trail: its roll-ups are written, right before network's own closing event.

That a connection came and went is recorded by network itself; here nothing is written twice.
"""

from __future__ import annotations

from signalbox.broker.audit_rollups import AuditRollups
from signalbox.network.connection import Connection


class RollupWatcher:
    """`network/ports.ConnectionWatcher`."""

    def __init__(self, rollups: AuditRollups) -> None:
        self._rollups = rollups

    def opened(self, connection: Connection) -> None:
        """Nothing was counted yet."""

    def closed(self, connection: Connection, reason: str) -> None:
        self._rollups.close(connection.connection_id)
