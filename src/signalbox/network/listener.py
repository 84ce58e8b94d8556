"""A listener at work: one row of the table with everything its connections share."""

from __future__ import annotations

from signalbox.network.listener_table import ListenerRow
from signalbox.network.plane import CONTROL, Plane
from signalbox.network.ports import HotPath, NetworkPorts, RequestSink, ServedVersions
from signalbox.network.refusals import Refusals
from signalbox.protocol.api_table import API_TABLE


class Listener:
    """Shared by the acceptor and the connections of one listener."""

    def __init__(self, row: ListenerRow, plane: Plane, ports: NetworkPorts, refusals: Refusals) -> None:
        self.row = row
        self.plane = plane
        self.sink: RequestSink = ports.request_sink
        self.hot_path: HotPath | None = None if plane.name == CONTROL else ports.hot_path
        self.served_versions: ServedVersions = served_on(row, ports.api_gate.versions(row))
        self.refusals = refusals
        self.bound_port = -1


def served_on(row: ListenerRow, versions: ServedVersions) -> ServedVersions:
    """What a listener takes of what the broker serves: a forced control plane admits the marked APIs only (C4)."""
    if not row.forced:
        return versions
    return {key: span for key, span in versions.items() if API_TABLE[key].control_plane}
