"""How connections of one client or one broker are made: names, limits, security, whether identity is sent."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from signalbox.common.limits import MAX_FRAME_SIZE_BYTES, MAX_UNAUTHENTICATED_FRAME_BYTES
from signalbox.security.sasl.mechanism import SaslClientExchange


@dataclass(frozen=True, slots=True)
class SaslLogin:
    """How to authenticate: the mechanism, and a fresh exchange for every connection. `ready` is awaited before
    connecting where something must be fetched first: TokenUnavailable."""

    mechanism: str
    begin: Callable[[], SaslClientExchange]
    ready: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True, eq=False)
class OutboundTls:
    """How connections do TLS. `context` may be replaced while connections stand (KIP-226): it is looked at when one is
    made. `handshakes` runs the steps of handshakes; None: asyncio's own threads."""

    context: ssl.SSLContext
    handshakes: Executor | None = None


@dataclass(frozen=True, slots=True)
class ConnectionSecurity:
    """TLS and SASL of a connection; both absent is PLAINTEXT. `listener_name` is for messages: what the peer calls
    the listener that is dialled, "" where nobody can know. `unusable` is why nothing may be dialled at all: settings
    that are missing must not make a connection less secure than was asked for."""

    tls: OutboundTls | None = None
    sasl: SaslLogin | None = None
    listener_name: str = ""
    unusable: str = ""


PLAINTEXT = ConnectionSecurity()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Shared by every connection of an owner. `identity_enabled` is `metadata.cluster.check.enable` for clients."""

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
        """The same with another security; None changes nothing."""
        return self if security is None else replace(self, security=security)
