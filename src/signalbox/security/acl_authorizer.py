"""The built-in authorizer: super users, then ACLs with the rules of Kafka's AclAuthorizer (KIP-11, KIP-290, KIP-679).

0. `signalbox.authorizer.forwarded.acl.changes.from` may reject a change of ACLs that another broker forwarded (F8). A
   broker that forwards acts for its client: an attacker who controls one broker could change ACLs in any user's name.
   The context has the client address that the forwarding broker sent. The rule applies to super users too; clients
   connected to the active controller itself are not affected.
1. A super user is allowed.
2. ACLs of the resource: its literal name, `*`, every prefix. No ACL of any user → `allow.everyone.if.no.acl.found`.
3. A matching DENY rejects; else a matching ALLOW allows; else rejected.

An entry matches when principal (or `User:*`), host (an address as text, or `*`) and operation match. ALLOW of some
operations implies others (`_IMPLIED_BY`); DENY implies nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from signalbox.protocol.api_table import ApiKey
from signalbox.security.acl import (
    WILDCARD,
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_view import AclIndex, AclView, Entries
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext

Networks = tuple[IPv4Network | IPv6Network, ...]
_ACL_CHANGES = frozenset({ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS})
_IMPLIED_BY: dict[AclOperation, frozenset[AclOperation]] = {
    AclOperation.DESCRIBE: frozenset({AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.ALTER_CONFIGS}),
}
_NONE: frozenset[AclOperation] = frozenset()


class AclAuthorizer:
    """`view` is read for every decision; when it is an index, `replace_view` sets a new one."""

    def __init__(
        self,
        view: AclView | None = None,
        super_users: Iterable[KafkaPrincipal] = (),
        allow_everyone_if_no_acl_found: bool = False,
        forwarded_acl_changes_from: Networks = (),
    ) -> None:
        self._view: AclView = view if view is not None else AclIndex()
        self._super_users = frozenset(super_users)
        self._allow_everyone = allow_everyone_if_no_acl_found
        self._forwarded_from = forwarded_acl_changes_from

    @property
    def stamp(self) -> int:
        return self._view.stamp

    def replace_view(self, view: AclView) -> None:
        """The ACLs have changed; `view` has another stamp."""
        self._view = view

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, resource_name: str
    ) -> bool:
        if is_rejected_forward(self._forwarded_from, context):
            return False
        if context.principal in self._super_users:
            return True
        entries = self._view.entries_for(resource_type, resource_name, str(context.principal))
        if entries is None:
            return self._allow_everyone
        hosts = _hosts(context.client_address)
        if _any(entries, AclPermission.DENY, hosts, operation):
            return False
        return _any(entries, AclPermission.ALLOW, hosts, operation)

    def authorize_any(self, context: RequestContext, operation: AclOperation, resource_type: ResourceType) -> bool:
        if context.principal in self._super_users:
            return True
        hosts = _hosts(context.client_address)
        denied: list[ResourcePattern] = []
        allowed: list[ResourcePattern] = []
        for pattern, entries in self._view.patterns_of(resource_type, str(context.principal)):
            if _any(entries, AclPermission.DENY, hosts, operation):
                if pattern.pattern_type is PatternType.LITERAL and pattern.name == WILDCARD:
                    return False
                denied.append(pattern)
            if _any(entries, AclPermission.ALLOW, hosts, operation):
                allowed.append(pattern)
        if self._allow_everyone:
            return True
        return any(not any(_dominates(no, yes) for no in denied) for yes in allowed)


@lru_cache(maxsize=1024)
def _hosts(address: str) -> tuple[str, ...]:
    """The values of `host` in ACLs that match a client's address: `*`, the address, and IPv6 in Java's notation
    (0:0:0:0:0:0:0:1), as in ACLs that come from Kafka."""
    try:
        groups = IPv6Address(address).exploded.split(":")
    except ValueError:
        return address, WILDCARD
    return address, ":".join(f"{int(group, 16):x}" for group in groups), WILDCARD


def _any(entries: Entries, permission: AclPermission, hosts: tuple[str, ...], operation: AclOperation) -> bool:
    return any(_matches(entry, permission, hosts, operation) for entry in entries)


def _matches(
    entry: AccessControlEntry, permission: AclPermission, hosts: tuple[str, ...], operation: AclOperation
) -> bool:
    """For an entry of the principal or of `User:*`."""
    if entry.permission is not permission or entry.host not in hosts:
        return False
    if entry.operation in (operation, AclOperation.ALL):
        return True
    implied_by = _IMPLIED_BY.get(operation, _NONE) if permission is AclPermission.ALLOW else _NONE
    return entry.operation in implied_by


def _dominates(denied: ResourcePattern, allowed: ResourcePattern) -> bool:
    """Whether `denied` covers every name that `allowed` covers."""
    if denied.pattern_type is PatternType.PREFIXED:
        if allowed.pattern_type is PatternType.LITERAL and allowed.name == WILDCARD:
            return False
        return allowed.name.startswith(denied.name)
    return allowed.pattern_type is PatternType.LITERAL and allowed.name == denied.name


def parse_networks(texts: Iterable[str]) -> Networks:
    """`10.0.0.0/8`, `fd00::/8`, or a single address; ValueError names the invalid piece."""
    networks = []
    for text in texts:
        try:
            networks.append(ip_network(text, strict=False))
        except ValueError:
            raise ValueError(f"{text!r} is no network such as 10.0.0.0/8 or fd00::/8") from None
    return tuple(networks)


def is_rejected_forward(networks: Networks, context: RequestContext) -> bool:
    """Whether this is a forwarded change of ACLs from another network. Without networks nothing is rejected."""
    if not networks or context.forwarding_principal is None or context.request_type not in _ACL_CHANGES:
        return False
    address = ip_address(context.client_address)
    return not any(address in network for network in networks)
