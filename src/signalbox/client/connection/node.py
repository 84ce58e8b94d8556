"""Values of outbound connections: the address of a node, its expected identity, the purpose of a connection.

KIP-1242: an identity is the pair (cluster id, node id), never half of it. Bootstrap servers have no identity; their
connections have negative ids. Connections are keyed by (node id, purpose) so that a coordinator's connection carries
the coordinator's true node id and is closed together with that node's others.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from signalbox.client.connection.connection_settings import ConnectionSecurity
from signalbox.common.endpoint import host_port


class Address(NamedTuple):
    """A host, not yet resolved, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return host_port(self.host, self.port)


class Identity(NamedTuple):
    """The node that a connection should lead to."""

    cluster_id: str
    node_id: int


class Purpose(StrEnum):
    """The purpose of a connection: requests that may block for long get a connection of their own."""

    REQUESTS = "requests"
    COORDINATOR = "coordinator"
    GROUP = "group"
    FETCH = "fetch"
    METADATA = "metadata"


class ConnectionKey(NamedTuple):
    node_id: int
    purpose: Purpose


@dataclass(frozen=True, slots=True)
class Node:
    """A broker in Metadata. `node_id` is negative for a bootstrap server. `security`: how connections to this node are
    secured, where its listener decides that and not the client's settings."""

    node_id: int
    address: Address
    rack: str | None = None
    security: ConnectionSecurity | None = None


def parse_bootstrap_servers(text: str) -> list[Address]:
    """`host:port,host:port` with IPv6 literals in brackets; ValueError names the invalid entry."""
    addresses: list[Address] = []
    for entry in (piece.strip() for piece in text.split(",")):
        if not entry:
            continue
        host, colon, port = entry.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        if not colon or not bare or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise ValueError(f"{entry!r} is not host:port")
        if ":" in bare and bare == host:
            raise ValueError(f"{entry!r}: an IPv6 address needs brackets, as in [::1]:9092")
        address = Address(bare, int(port))
        if address not in addresses:
            addresses.append(address)
    if not addresses:
        raise ValueError("bootstrap.servers names no server")
    return addresses
