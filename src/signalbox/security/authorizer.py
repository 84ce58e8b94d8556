"""Authorization: the port that handlers call, and the authorizer where none is configured (KIP-11).

`acl_authorizer.py` decides by ACLs. `stamp` changes whenever a decision may change: request templates carry it and are
dropped when it changes.
"""

from __future__ import annotations

from typing import Protocol

from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext


class Authorizer(Protocol):
    """Port of `authorizer.class.name`. Must return at once and never raise."""

    @property
    def stamp(self) -> int:
        """Changes when any decision may have changed."""
        ...

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, resource_name: str
    ) -> bool: ...

    def authorize_any(self, context: RequestContext, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Whether `operation` is allowed on at least one resource of the type (KIP-679)."""
        ...


class AllowAllAuthorizer:
    """No authorizer configured: everything is allowed, as in Kafka."""

    stamp = 0

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, resource_name: str
    ) -> bool:
        return True

    def authorize_any(self, context: RequestContext, operation: AclOperation, resource_type: ResourceType) -> bool:
        return True


def parse_super_users(text: str) -> frozenset[KafkaPrincipal]:
    """`super.users`: `Type:name` entries separated by semicolons (distinguished names hold commas). ValueError."""
    users = []
    for piece in filter(None, map(str.strip, text.split(";"))):
        type_, colon, name = piece.partition(":")
        if not colon or not type_ or not name:
            raise ValueError(f"{piece!r} is not of the form Type:name, for example User:admin")
        users.append(KafkaPrincipal(type_, name))
    return frozenset(users)
