"""Endpoints: the address of a node on a named listener, with its security protocol (KIP-103)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class SecurityProtocol(IntEnum):
    """Kafka's four security protocols with their numbers on the wire."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3

    @property
    def uses_tls(self) -> bool:
        return self in (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)

    @property
    def uses_sasl(self) -> bool:
        return self in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL)


def normalize_listener_name(name: str) -> str:
    """Listener names are compared in upper case everywhere (Kafka is uneven here)."""
    return name.strip().upper()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of a node. `host` carries IPv6 literals without brackets; "" is the wildcard."""

    listener_name: str
    host: str
    port: int
    security_protocol: SecurityProtocol

    def __str__(self) -> str:
        return f"{self.listener_name}://{host_port(self.host, self.port)}"


def host_port(host: str, port: int) -> str:
    """`host:port`, with brackets around an IPv6 literal."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
