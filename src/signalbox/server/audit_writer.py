"""Writes the audit trail to its topic while a node runs, and the events that are left when the node stops."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.server.audit_delivery import TopicDelivery
from signalbox.server.telemetry import Telemetry


class AuditWriter:
    """`flush_connections` records the open roll-ups of the network. If `enabled` is False (signalbox.audit.enable),
    nothing is written."""

    def __init__(
        self, telemetry: Telemetry, delivery: TopicDelivery, enabled: bool, flush_connections: Callable[[], None]
    ) -> None:
        self.enabled = enabled
        self._telemetry = telemetry
        self._delivery = delivery
        self._flush_connections = flush_connections

    def flush_rollups(self) -> None:
        """Records the roll-ups whose window is over."""
        self._telemetry.rollups.flush()

    async def write(self, broker_epoch: int) -> None:
        """Writes events until it is cancelled; each has the broker epoch."""
        await self._telemetry.audit.write(broker_epoch, self._delivery)

    async def drain(self, timeout_s: float) -> None:
        """Waits until all events are written, at most `timeout_s` seconds."""
        if self.enabled:
            self._telemetry.rollups.flush()
            self._flush_connections()
            await self._telemetry.audit.drain(self._delivery, timeout_s)

    async def close(self) -> None:
        """Ends the delivery; events that are not written are lost."""
        await self._telemetry.audit.close()
        await self._delivery.close()
