"""Reads the connection limits of the broker and of each listener from the settings."""

from __future__ import annotations

from signalbox.common.clock import Clock
from signalbox.network.acceptors.descriptors import Descriptors
from signalbox.network.listeners.listener_table import ListenerTable
from signalbox.network.listeners.network_settings import ListenerSettings, NetworkSettings
from signalbox.network.plane import DATA
from signalbox.network.quotas.connection_quotas import (
    BrokerLimits,
    ConnectionQuotas,
    CreationRate,
    ListenerLimits,
)
from signalbox.network.quotas.idle_expiry import ExpiryLimits
from signalbox.network.quotas.per_ip_overrides import parse_per_ip_overrides

_COUNT_KEY = "max.connections"
_RATE_KEY = "max.connection.creation.rate"


def read_quotas(table: ListenerTable, settings: NetworkSettings, clock: Clock) -> ConnectionQuotas:
    """The connection quotas of a node."""
    return ConnectionQuotas(*read_limits(table, settings), clock, Descriptors().scarce)


def read_limits(table: ListenerTable, settings: NetworkSettings) -> tuple[BrokerLimits, dict[str, ListenerLimits]]:
    """The limits of the broker and of the listeners. A key without prefix applies to the broker, and to each listener
    without a key of its own."""
    everywhere = settings.everywhere
    overrides, _ = parse_per_ip_overrides(everywhere.text("max.connections.per.ip.overrides"))
    broker = BrokerLimits(
        max_connections=everywhere.number(_COUNT_KEY),
        max_creation_rate=everywhere.number(_RATE_KEY),
        max_per_ip=everywhere.number("max.connections.per.ip"),
        per_ip_overrides=overrides,
    )
    data_listeners = sum(row.plane == DATA for row in table)
    listeners = {
        row.name: ListenerLimits(
            max_connections=settings.listener(row.name).number(_COUNT_KEY),
            creation_rate=CreationRate(settings.listener(row.name).number(_RATE_KEY)),
            protected=(row.inter_broker or row.plane != DATA) and len(table) > 1,
            any_per_ip=row.plane != DATA or (row.inter_broker and data_listeners > 1),
        )
        for row in table
    }
    return broker, listeners


def read_expiry_limits(settings: ListenerSettings) -> ExpiryLimits:
    """The timeouts of idle connections, of stalled ones, and of connection setup."""
    idle_ms = settings.number("connections.max.idle.ms")
    return ExpiryLimits(
        idle=idle_ms / 1000 if idle_ms >= 0 else None,
        stall=settings.number("signalbox.connection.write.stall.timeout.ms") / 1000,
        setup=settings.number("signalbox.connection.setup.timeout.ms") / 1000,
    )
