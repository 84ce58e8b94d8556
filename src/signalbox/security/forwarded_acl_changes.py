"""A rule against impersonation (SPEC F8): forwarded changes of ACLs are accepted from configured networks only.

A broker that forwards acts for its client: an attacker who controls one broker could change ACLs in any user's name.
The request's context says that it was forwarded, and has the client address that the forwarding broker sent, so a rule
can check both. The rule applies to super users too; clients connected to the active controller itself are not affected.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from signalbox.protocol.api_table import ApiKey
from signalbox.security.request_context import RequestContext

Networks = tuple[IPv4Network | IPv6Network, ...]
_ACL_CHANGES = frozenset({ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS})


def parse_networks(texts: Iterable[str]) -> Networks:
    """`10.0.0.0/8`, `fd00::/8`, or a single address; ValueError names the invalid piece."""
    networks = []
    for text in texts:
        try:
            networks.append(ip_network(text, strict=False))
        except ValueError:
            raise ValueError(f"{text!r} is no network such as 10.0.0.0/8 or fd00::/8") from None
    return tuple(networks)


def rejects(networks: Networks, context: RequestContext) -> bool:
    """Whether this is a forwarded change of ACLs from another network. Without networks nothing is rejected."""
    if not networks or context.forwarding_principal is None or context.request_type not in _ACL_CHANGES:
        return False
    address = ip_address(context.client_address)
    return not any(address in network for network in networks)
