"""From settings to limits: which keys set which connection limit of the broker and of each listener."""

from __future__ import annotations

from signalbox.common.clock import Clock
from signalbox.network.connection_quotas import (
    BrokerLimits,
    ConnectionQuotas,
    CreationRate,
    ListenerLimits,
)
from signalbox.network.descriptors import Descriptors
from signalbox.network.idle_expiry import ExpiryLimits
from signalbox.network.listener_table import ListenerTable
from signalbox.network.network_settings import ListenerSettings, NetworkSettings
from signalbox.network.per_ip_overrides import parse_per_ip_overrides
from signalbox.network.plane import DATA

_COUNT_KEY = "max.connections"
_RATE_KEY = "max.connection.creation.rate"


def read_quotas(table: ListenerTable, settings: NetworkSettings, clock: Clock) -> ConnectionQuotas:
    """The connection quotas of a node."""
    return ConnectionQuotas(*read_limits(table, settings), clock, Descriptors().scarce)


def read_limits(table: ListenerTable, settings: NetworkSettings) -> tuple[BrokerLimits, dict[str, ListenerLimits]]:
    """The broker's and the listeners' limits. A key without prefix holds for the broker, and for each listener that has
    not its own."""
    everywhere = settings.everywhere
    overrides, _ = parse_per_ip_overrides(everywhere.text("max.connections.per.ip.overrides"))
    broker = BrokerLimits(
        max_connections=everywhere.number(_COUNT_KEY),
        max_creation_rate=everywhere.number(_RATE_KEY),
        max_per_ip=everywhere.number("max.connections.per.ip"),
        per_ip_overrides=overrides,
    )
    listeners = {
        row.name: ListenerLimits(
            max_connections=settings.listener(row.name).number(_COUNT_KEY),
            creation_rate=CreationRate(settings.listener(row.name).number(_RATE_KEY)),
            protected=(row.inter_broker or row.plane != DATA) and len(table) > 1,
        )
        for row in table
    }
    return broker, listeners


def read_expiry_limits(settings: ListenerSettings) -> ExpiryLimits:
    """How long connections may idle, stall and take to set up."""
    idle_ms = settings.number("connections.max.idle.ms")
    return ExpiryLimits(
        idle=idle_ms / 1000 if idle_ms >= 0 else None,
        stall=settings.number("connection.write.stall.timeout.ms") / 1000,
        setup=settings.number("connection.setup.timeout.ms") / 1000,
    )
