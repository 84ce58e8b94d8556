"""What this package needs of the broker: handling of requests, API versions, and notifications of connections.

The interfaces are defined here; `wiring` passes the broker's objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from signalbox.common.audit_event import AuditSink, NullAudit
from signalbox.common.clock import Clock, SystemClock
from signalbox.common.metrics import Metrics, NullMetrics
from signalbox.network.listeners.listener_security import ListenerSecurity
from signalbox.network.quotas.address_rates import AddressRates
from signalbox.security.principal import DefaultPrincipalBuilder, PrincipalBuilder

if TYPE_CHECKING:
    from signalbox.network.connection import Connection, InboundRequest

ServedVersions = Mapping[int, tuple[int, int]]
"""API key → (lowest, highest) version that the broker serves. A forced control plane serves fewer (`Listener`)."""


class RequestSink(Protocol):
    def submit(self, request: InboundRequest) -> None:
        """Handle a request; respond now or later, exactly once. Must not raise."""
        ...


class FastPath(Protocol):
    """Handles repeated requests, which are nearly all of the data plane's traffic, without decoding them."""

    def try_frame(self, connection: Connection, frame: memoryview) -> bool:
        """Process the complete frame, or return False and change nothing (the generic path follows).

        `frame` is writable and valid only until this returns: copy any part that is kept. Respond with
        `connection.respond(chunks)` (or `respond_framed(frame)`, size included) before returning True, or send no
        response (acks=0). To respond later, call `connection.defer()` first: the connection then reads
        nothing more until `respond` or `respond_nothing`.
        """
        ...

    def forget(self, connection: Connection) -> None:
        """The connection is closed: discard its request templates."""
        ...


class ConnectionWatcher(Protocol):
    """Notified of every connection that may send requests: after authentication, and when it is closed. Of the others,
    which may have sent ApiVersions, when they are closed."""

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection, reason: str) -> None: ...

    def setup_failed(self, connection: Connection) -> None: ...


@dataclass(slots=True, kw_only=True)
class NetworkPorts:
    """The dependencies of the socket server. Only the first two have no default."""

    request_sink: RequestSink
    served_versions: ServedVersions
    fast_path: FastPath | None = None
    watcher: ConnectionWatcher | None = None
    audit: AuditSink = field(default_factory=NullAudit)
    metrics: Metrics = field(default_factory=NullMetrics)
    clock: Clock = field(default_factory=SystemClock)
    security: Mapping[str, ListenerSecurity] = field(default_factory=dict)
    principal_builder: PrincipalBuilder = field(default_factory=DefaultPrincipalBuilder)
    address_rates: AddressRates | None = None
