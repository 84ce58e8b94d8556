"""What the broker plugs into the network: who takes requests, who is admitted, who watches connections.

The words here are network's own; `wiring` hands in the broker's objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from signalbox.common.audit_event import AuditSink, NullAudit
from signalbox.common.clock import Clock, SystemClock
from signalbox.common.metrics import Metrics, NullMetrics
from signalbox.network.address_rates import AddressRates
from signalbox.network.listener_security import ListenerSecurity
from signalbox.security.principal import DefaultPrincipalBuilder, PrincipalBuilder

if TYPE_CHECKING:
    from signalbox.network.connection import Connection
    from signalbox.network.inbound_request import InboundRequest
    from signalbox.network.listener_table import ListenerRow

ServedVersions = Mapping[int, tuple[int, int]]


class RequestSink(Protocol):
    def submit(self, request: InboundRequest) -> None:
        """Take a request; answer it now or later, exactly once. Must not raise."""
        ...


class HotPath(Protocol):
    """A short cut for the frames that make up nearly all of the data plane's traffic."""

    def try_frame(self, connection: Connection, frame: memoryview) -> bool:
        """Deal with the whole frame, or return False and leave everything untouched (the generic path follows).

        `frame` is writable and valid only until this returns: copy what is kept. Answer with
        `connection.respond(chunks)` (or `respond_whole(frame)`, size included) before returning True, or answer
        nothing (acks=0). To answer later, call
        `connection.defer()` first: the frame then stays valid if `connection.frame_is_owned`, and the
        connection reads nothing more until `respond` or `respond_nothing`.
        """
        ...

    def forget(self, connection: Connection) -> None:
        """The connection is closed: drop what is kept for it."""
        ...


class ApiGate(Protocol):
    def versions(self, listener: ListenerRow) -> ServedVersions:
        """API key → (lowest, highest) version that the broker takes on this listener; asked once, at start."""
        ...


class ConnectionWatcher(Protocol):
    """Told about every connection that got as far as sending requests."""

    def opened(self, connection: Connection) -> None: ...

    def closed(self, connection: Connection, reason: str) -> None: ...


@dataclass(slots=True, kw_only=True)
class NetworkPorts:
    """Everything that the socket server is handed. Only the first two have no default."""

    request_sink: RequestSink
    api_gate: ApiGate
    hot_path: HotPath | None = None
    watcher: ConnectionWatcher | None = None
    audit: AuditSink = field(default_factory=NullAudit)
    metrics: Metrics = field(default_factory=NullMetrics)
    clock: Clock = field(default_factory=SystemClock)
    security: Mapping[str, ListenerSecurity] = field(default_factory=dict)
    principal_builder: PrincipalBuilder = field(default_factory=DefaultPrincipalBuilder)
    address_rates: AddressRates | None = None
