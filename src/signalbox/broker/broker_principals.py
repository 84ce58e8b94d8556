"""Brokers' logins are for brokers: no changes under them on listeners of clients (F15, KIP-590).

A broker's password is in a file on every host, and with it comes every right. Who acts as a broker (fetches as a
replica, forwards, speaks as the controller), on a listener where brokers speak, is known by his principal from then on:
wherever else it shows up, it may look at what it has rights on, produce and fetch, but create, delete and alter
nothing. ANONYMOUS is nobody's login: a cluster in which brokers do not prove themselves is as open as it was.

A rule before the authorizer: every handler, and the filter before forwarding (F6), asks it without knowing of it.
"""

from __future__ import annotations

import logging

from signalbox.broker.doors import by_a_door_of_brokers
from signalbox.common.limits import MAX_BROKER_PRINCIPALS
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer
from signalbox.security.principal import ANONYMOUS, KafkaPrincipal
from signalbox.security.request_context import RequestContext

log = logging.getLogger(__name__)

_CHANGES = frozenset(
    {
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.ALTER_CONFIGS,
        AclOperation.CREATE_TOKENS,
    }
)


class BrokerPrincipalRule:
    """An authorizer before the authorizer."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._brokers: set[KafkaPrincipal] = set()
        self._told: set[KafkaPrincipal] = set()

    @property
    def stamp(self) -> int:
        """The authorizer's own: hot paths change nothing that the rule refuses."""
        return self._authorizer.stamp

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, resource_name: str
    ) -> bool:
        allowed = self._authorizer.authorize(context, operation, resource_type, resource_name)
        if not allowed or operation not in _CHANGES or context.principal not in self._brokers:
            return allowed
        if by_a_door_of_brokers(context):
            return True
        self._tell(context)
        return False

    def authorize_any(self, context: RequestContext, operation: AclOperation, resource_type: ResourceType) -> bool:
        return self._authorizer.authorize_any(context, operation, resource_type)

    def acted(self, context: RequestContext) -> None:
        """The principal has made use of CLUSTER_ACTION."""
        principal = context.principal
        if principal in self._brokers or principal == ANONYMOUS or not by_a_door_of_brokers(context):
            return
        if len(self._brokers) < MAX_BROKER_PRINCIPALS:
            self._brokers.add(principal)

    def _tell(self, context: RequestContext) -> None:
        """Once: what is refused after that is in the audit trail."""
        if context.principal not in self._told:
            self._told.add(context.principal)
            log.warning(
                "%s is how a broker logs in: changes under it are refused on listener %s, where clients speak; log in"
                " as somebody else, or set broker.principal.changes.on.client.listeners.enable",
                context.principal,
                context.listener_name,
            )
