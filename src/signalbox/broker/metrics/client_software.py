"""Connections by client software name and version (KIP-511, F16): when no connection of old software is left, support
for an old protocol version can be removed.

Kafka's gauge `connections` of `socket-server-metrics`: one per listener and software, removed with its last connection.
A client that does not name its software (ApiVersions before version 3, or no ApiVersions) is "unknown", as in Kafka.
Clients can send any name: above the maximum number of rows, or the maximum length, they share one row.
"""

from __future__ import annotations

from typing import NamedTuple

from signalbox.common.limits import MAX_CLIENT_SOFTWARE_COUNTED, MAX_CLIENT_SOFTWARE_LENGTH
from signalbox.common.metrics import MetricName, Metrics
from signalbox.security.request_context import RequestContext

_CONNECTIONS = MetricName("kafka.server", "socket-server-metrics", "connections")
_UNKNOWN, _OTHER = "unknown", "other"


class _Row(NamedTuple):
    listener: str
    name: str
    version: str


class ClientSoftware:
    """One per broker. A connection counts from `opened` to `closed`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._counts: dict[_Row, int] = {}
        self._of: dict[str, _Row] = {}

    def opened(self, context: RequestContext) -> None:
        """Count a connection that may send requests from now on; it may have named its software before it logged in."""
        self._of[context.connection_id] = self._enter(context)

    def named(self, context: RequestContext) -> None:
        """Update the software of a connection after it changed."""
        before = self._of.get(context.connection_id)
        if before is not None:  # None: not logged in yet
            self._leave(before)
            self._of[context.connection_id] = self._enter(context)

    def closed(self, context: RequestContext) -> None:
        row = self._of.pop(context.connection_id, None)
        if row is not None:
            self._leave(row)

    def _enter(self, context: RequestContext) -> _Row:
        listener = context.listener_name
        row = _Row(listener, context.client_software_name or _UNKNOWN, context.client_software_version or _UNKNOWN)
        if row not in self._counts:
            full = len(self._counts) >= MAX_CLIENT_SOFTWARE_COUNTED
            if full or max(len(row.name), len(row.version)) > MAX_CLIENT_SOFTWARE_LENGTH:
                row = _Row(listener, _OTHER, _OTHER)
        if row not in self._counts:
            self._counts[row] = 0
            self._metrics.gauge(_CONNECTIONS, lambda: self._counts.get(row, 0), _tags(row))
        self._counts[row] += 1
        return row

    def _leave(self, row: _Row) -> None:
        self._counts[row] -= 1
        if not self._counts[row]:
            del self._counts[row]
            self._metrics.remove(_CONNECTIONS, _tags(row))


def _tags(row: _Row) -> dict[str, str]:
    return {
        "listener": row.listener,
        "networkProcessor": "0",
        "clientSoftwareName": row.name,
        "clientSoftwareVersion": row.version,
    }
