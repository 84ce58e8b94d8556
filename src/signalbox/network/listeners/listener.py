"""A listener that serves: one row of the table with everything that its connections share."""

from __future__ import annotations

from signalbox.network.connection import SASL_APIS
from signalbox.network.listeners.listener_table import ListenerRow
from signalbox.network.listeners.network_settings import ListenerSettings
from signalbox.network.plane import CONTROLLER, DATA, Plane
from signalbox.network.ports import FastPath, NetworkPorts, RequestSink, ServedVersions
from signalbox.network.quotas.rejections import Rejections
from signalbox.network.sasl.authentication_counts import AuthenticationCounts
from signalbox.network.sasl.callback_threads import CallbackThreads
from signalbox.protocol.api_table import API_TABLE, ApiRow
from signalbox.protocol.headers import RequestHeader


class Listener:
    """Shared by the acceptor and the connections of one listener."""

    def __init__(
        self,
        row: ListenerRow,
        plane: Plane,
        settings: ListenerSettings,
        ports: NetworkPorts,
        sink: RequestSink,
        rejections: Rejections,
    ) -> None:
        self.row = row
        self.plane = plane
        self.settings = settings
        self.sink = sink
        self.fast_path: FastPath | None = ports.fast_path if plane.name == DATA else None
        self.served_versions: ServedVersions = served_on(row, ports.served_versions)
        self.rejections = rejections
        self.authentications = AuthenticationCounts(ports.metrics, row.name)
        self.accepted = 0  # connections so far
        self.callbacks = CallbackThreads()
        self.max_frame_bytes = settings.number("socket.request.max.bytes")
        receive_max = settings.number("sasl.server.max.receive.size")
        uses_sasl = row.security_protocol.uses_sasl
        self.setup_frame_bytes = min(receive_max, self.max_frame_bytes) if uses_sasl else self.max_frame_bytes

    def reason_not_served(self, header: RequestHeader, client_address: str) -> tuple[str, str]:
        """(kind of the rejection, reason) for a request whose API or version this listener does not serve."""
        row = API_TABLE.get(header.api_key)
        client = f"client {header.client_id or '(no id)'} at {client_address}"
        if row is None:
            return "unknown_api", f"{client} sent the unknown API {header.api_key}"
        if self.row.forced and not row.control_plane:
            return (
                "control_plane_forced",
                f"{client} sent {row.name}: the control plane accepts only controller requests "
                "(control.plane.force.controller.requests.enable)",
            )
        if self.row.plane == CONTROLLER and not row.controller:
            return (
                "controller_listener",
                f"{client} sent {row.name}: a controller accepts only requests of brokers (controller.listener.names)",
            )
        if header.api_key not in self.served_versions:
            return "api_not_on_listener", f"{client} sent {row.name}, which this listener does not serve"
        lowest, highest = self.served_versions[header.api_key]
        return (
            "unsupported_version",
            f"{client} sent {row.name} version {header.api_version}, supported are {lowest} to {highest}",
        )


def served_on(row: ListenerRow, versions: ServedVersions) -> ServedVersions:
    """The API versions that the node serves on a listener: a forced control plane (C4) and a controller's listeners
    (F15) accept only the APIs marked for them. The two SASL APIs are never passed on: this package answers them."""
    return {key: span for key, span in versions.items() if key not in SASL_APIS and _admits(row, API_TABLE[key])}


def _admits(row: ListenerRow, api: ApiRow) -> bool:
    if row.plane == CONTROLLER:
        return api.controller
    return api.control_plane or not row.forced
