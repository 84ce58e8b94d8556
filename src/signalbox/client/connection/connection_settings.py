"""How connections of one client or one broker are made: names, limits, security, and whether identity is sent."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from signalbox.common.limits import MAX_FRAME_SIZE_BYTES, MAX_UNAUTHENTICATED_FRAME_BYTES
from signalbox.security.sasl.mechanism import SaslClientExchange


@dataclass(frozen=True, slots=True)
class SaslLogin:
    """How to authenticate: the mechanism, and a new exchange for every connection. `ready`, if set, is awaited before
    connecting, for a login that must fetch a token first: TokenUnavailable."""

    mechanism: str
    begin: Callable[[], SaslClientExchange]
    ready: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True, eq=False)
class OutboundTls:
    """TLS of outbound connections. `context` may be replaced while connections are open (KIP-226): it is read when a
    connection is made. `handshakes` runs the steps of handshakes; None: asyncio's own threads."""

    context: ssl.SSLContext
    handshakes: Executor | None = None


@dataclass(frozen=True, slots=True)
class ConnectionSecurity:
    """TLS and SASL of a connection; both absent is PLAINTEXT. `listener_name` is for messages: the name of the peer's
    listener, "" where it is unknown. `unusable` is why no connection may be made: missing settings must not make a
    connection less secure than configured."""

    tls: OutboundTls | None = None
    sasl: SaslLogin | None = None
    listener_name: str = ""
    unusable: str = ""


PLAINTEXT = ConnectionSecurity()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Shared by all connections of one client or broker. `identity_enabled`: `metadata.cluster.check.enable`."""

    client_id: str = "signalbox"
    software_name: str = "signalbox"
    software_version: str = "0.1.0"
    connect_timeout_ms: int = 10_000
    request_timeout_ms: int = 30_000
    identity_enabled: bool = True
    max_handshake_frame_bytes: int = MAX_UNAUTHENTICATED_FRAME_BYTES
    max_frame_bytes: int = MAX_FRAME_SIZE_BYTES
    security: ConnectionSecurity = field(default=PLAINTEXT)

    def secured(self, security: ConnectionSecurity | None) -> ConnectionSettings:
        """The same settings with other security; None changes nothing."""
        return self if security is None else replace(self, security=security)
