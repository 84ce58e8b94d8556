"""A rule that shows what the forwarding principal is for (F8): ACL changes that come forwarded from outside a network
are refused, whatever the authorizer behind would say.

A change sent straight to the controller, or forwarded for a client inside the network, goes on to that authorizer.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer
from signalbox.security.request_context import RequestContext

Network = IPv4Network | IPv6Network


def parse_networks(text: str) -> tuple[Network, ...]:
    """Comma-separated networks like 10.0.0.0/8; ValueError names the piece that is none."""
    return tuple(ip_network(piece.strip()) for piece in text.split(",") if piece.strip())


class ForwardedAclChangeRule:
    """An authorizer around another one. ACL changes are ALTER on CLUSTER."""

    def __init__(self, behind: Authorizer, networks: Iterable[Network]) -> None:
        self._behind = behind
        self._networks = tuple(networks)

    @property
    def stamp(self) -> int:
        return self._behind.stamp

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, resource_name: str
    ) -> bool:
        if (
            context.forwarding_principal is not None
            and operation is AclOperation.ALTER
            and resource_type is ResourceType.CLUSTER
            and not self._inside(context.client_address)
        ):
            return False
        return self._behind.authorize(context, operation, resource_type, resource_name)

    def authorize_any(self, context: RequestContext, operation: AclOperation, resource_type: ResourceType) -> bool:
        return self._behind.authorize_any(context, operation, resource_type)

    def _inside(self, address: str) -> bool:
        host = ip_address(address)
        return any(host.version == network.version and host in network for network in self._networks)
