"""Makes an accepted socket a connection that may send requests: limits, channel, context, authentication.

One per listener. Every connection of the listener is in `connections` from `register` until it is closed.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from itertools import count

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.endpoint import SecurityProtocol
from signalbox.network.connection import Connection
from signalbox.network.listeners.listener import Listener
from signalbox.network.plane import CONTROL, CONTROLLER
from signalbox.network.ports import NetworkPorts
from signalbox.network.quotas.connection_quotas import ConnectionQuotas
from signalbox.network.sasl.authentication import Authentication
from signalbox.security.principal import AuthenticationEvidence, PrincipalRejected, build_principal
from signalbox.security.request_context import RequestContext
from signalbox.security.tls.distinguished_name import distinguished_name
from signalbox.transport.frame_channel import FrameChannel
from signalbox.transport.socket_address import address_bytes
from signalbox.transport.tls.tls_failure import PLAINTEXT_ON_TLS, TLS_HANDSHAKE

log = logging.getLogger("signalbox.network.connection_registry")


class ConnectionRegistry:
    """`next_index` numbers connections over all listeners of the server."""

    def __init__(
        self, listener: Listener, ports: NetworkPorts, quotas: ConnectionQuotas, next_index: count[int]
    ) -> None:
        self.listener = listener
        self.connections: dict[int, Connection] = {}
        self._ports = ports
        self._quotas = quotas
        self._next_index = next_index

    def wait_seconds(self) -> float:
        """For the acceptor: seconds until another connection may be accepted."""
        return self._quotas.wait_seconds(self.listener.row.name)

    def accept(self, sock: socket.socket, address: str) -> bool:
        """Whether one more connection from `address` is accepted. If not, it is closed at once, or, above its creation
        rate, after a time in which it is not read; the rejection is counted and logged. The acceptor calls
        `wait_seconds` before, and `register` or `release` for an accepted connection."""
        rates = self._ports.address_rates
        seconds = rates.hold_seconds(address) if rates is not None else 0.0
        if seconds:
            reason = f"connections from {address} come faster than its quota connection_creation_rate"
            self._reject("connection_rate", address, reason)
            asyncio.get_running_loop().call_later(seconds, sock.close)
            return False
        if not self._quotas.admit(self.listener.row.name, address):
            reason = f"too many connections from {address} (max.connections.per.ip)"
            self._reject("too_many_connections", address, reason)
            sock.close()
            return False
        return True

    def _reject(self, kind: str, address: str, reason: str) -> None:
        event = AuditEvent(
            kind=AuditKind.REJECTED,
            listener=self.listener.row.name,
            plane=self.listener.plane.name,
            client_address=address,
            reason=reason,
        )
        self.listener.rejections.note(kind, event)

    def release(self, address: str) -> None:
        """An admitted connection was closed by its peer before `register`."""
        self._quotas.release(self.listener.row.name, address)

    def register(self, channel: FrameChannel) -> Connection:
        """Register a connection on an admitted channel, which does not read yet. `on_ready` follows when the channel is
        connected."""
        row = self.listener.row
        host, port = channel.peer_address
        local_host, local_port = channel.local_address
        index = next(self._next_index)
        context = RequestContext(
            f"{local_host}:{local_port}-{host}:{port}-0-{index}",
            row.name,
            row.security_protocol,
            host,
            address_bytes(host),
            privileged=row.privileged,
            control_plane=row.plane == CONTROL,
            controller_plane=row.plane == CONTROLLER,
            inter_broker=row.inter_broker,
        )
        connection = Connection(self.listener, channel, context)
        channel.on_closed = lambda reason: self._on_closed(index, connection, reason)
        self.connections[index] = connection
        self.listener.plane.connections += 1
        self.listener.accepted += 1
        return connection

    def on_ready(self, connection: Connection) -> None:
        """The channel is connected, TLS included: authenticate, or accept requests at once."""
        channel = connection.channel
        if connection.context.security_protocol.uses_sasl:
            Authentication(connection, self.listener, self._ports, self.established).begin()
            return
        certificate = channel.peer_certificate
        self.established(connection, distinguished_name(certificate) if certificate else None)

    def established(self, connection: Connection, tls_subject: str | None = None) -> None:
        """The peer is authenticated: requests go to the broker from now on."""
        context = connection.context
        if not context.security_protocol.uses_sasl:
            evidence = AuthenticationEvidence(
                context.security_protocol, context.client_address, context.listener_name, tls_subject
            )
            try:
                context.principal = build_principal(self._ports.principal_builder, evidence)
            except PrincipalRejected as rejection:
                self.listener.authentications.failed.add()
                connection.reject("authentication_failed", str(rejection), None, denied=True)
                return
        channel = connection.channel
        if context.security_protocol is not SecurityProtocol.PLAINTEXT:
            self.listener.authentications.succeeded.add()
        channel.max_frame_bytes = self.listener.max_frame_bytes
        channel.on_frame = connection.on_frame
        connection.established = True
        self._ports.audit.record(self._event(AuditKind.CONNECTION_OPEN, connection, ""))
        if self._ports.watcher is not None:
            self._ports.watcher.opened(connection)

    def close_all(self, reason: str) -> None:
        for connection in list(self.connections.values()):
            connection.close(reason)

    def _on_closed(self, index: int, connection: Connection, reason: str) -> None:
        del self.connections[index]
        self.listener.plane.connections -= 1
        context = connection.context
        self._quotas.release(context.listener_name, context.client_address)
        connection.on_closed()
        fault = connection.channel.fault
        if fault:
            connection.note_rejection(fault, reason, None)
        if fault in (TLS_HANDSHAKE, PLAINTEXT_ON_TLS):
            self.listener.authentications.failed.add()
        if connection.established:
            if self._ports.watcher is not None:
                self._ports.watcher.closed(connection, reason)
            self._ports.audit.record(self._event(AuditKind.CONNECTION_CLOSE, connection, reason))
        elif self._ports.watcher is not None:
            self._ports.watcher.setup_failed(connection)
        log.debug("connection %s closed: %s", context.connection_id, reason)

    def _event(self, kind: AuditKind, connection: Connection, reason: str) -> AuditEvent:
        context, header = connection.context, connection.last_header
        return AuditEvent(
            kind=kind,
            timestamp_ms=self._ports.clock.now_ms(),
            listener=context.listener_name,
            plane=self.listener.plane.name,
            connection_id=context.connection_id,
            client_address=context.client_address,
            client_id=(header.client_id or "") if header is not None else "",
            client_software=context.client_software,
            principal=str(context.principal),
            reason=reason,
            request_bytes=connection.channel.bytes_in,
            response_bytes=connection.channel.bytes_out,
        )
