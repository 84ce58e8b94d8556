"""The API versions that the network accepts: those of the route table, for every listener (`network/ports.ApiGate`).
The network package itself limits a forced control plane further."""

from __future__ import annotations

from signalbox.broker.routes import ROUTES
from signalbox.network.listeners.listener_table import ListenerRow
from signalbox.network.ports import ServedVersions
from signalbox.protocol.api_table import API_TABLE


class RouteGate:
    def __init__(self) -> None:
        self._versions = {
            int(row.api_key): (API_TABLE[row.api_key].min_version, API_TABLE[row.api_key].max_version) for row in ROUTES
        }

    def versions(self, listener: ListenerRow) -> ServedVersions:
        return self._versions
