"""Principals of brokers may make no changes on client listeners (F15, KIP-590).

A broker's password is in a file on every host, and it gives all rights. When a principal acts as a broker (fetches as a
replica, forwards, sends control requests) on an internal listener, it is remembered as a broker's principal. On client
listeners such a principal may describe, produce and fetch what it has rights on, but create, delete and alter nothing.
ANONYMOUS is never remembered: in a cluster whose brokers do not authenticate, the rule has no effect.

The rule decorates the authorizer: it applies to every handler and to the filter before forwarding (F6).
"""

from __future__ import annotations

import logging

from signalbox.broker.authorization.authorization import on_internal_listener
from signalbox.common.limits import MAX_BROKER_PRINCIPALS
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import AllowAllAuthorizer, Authorizer
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
    """Decorates `Authorizer`."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        self._brokers: set[KafkaPrincipal] = set()
        self._logged: set[KafkaPrincipal] = set()

    @property
    def stamp(self) -> int:
        """The stamp of the decorated authorizer: the rule rejects no operation that the fast path serves."""
        return self._authorizer.stamp

    def authorize(
        self, context: RequestContext, operation: AclOperation, resource_type: ResourceType, resource_name: str
    ) -> bool:
        allowed = self._authorizer.authorize(context, operation, resource_type, resource_name)
        if not allowed or operation not in _CHANGES or context.principal not in self._brokers:
            return allowed
        if on_internal_listener(context):
            return True
        self._log_once(context)
        return False

    def authorize_any(self, context: RequestContext, operation: AclOperation, resource_type: ResourceType) -> bool:
        return self._authorizer.authorize_any(context, operation, resource_type)

    @property
    def allows_all(self) -> bool:
        """Whether no authorizer is configured."""
        return isinstance(self._authorizer, AllowAllAuthorizer)

    def is_broker(self, principal: KafkaPrincipal) -> bool:
        """Whether the principal has used CLUSTER_ACTION on an internal listener."""
        return principal in self._brokers

    def record_cluster_action(self, context: RequestContext) -> None:
        """Remember that the principal has used CLUSTER_ACTION; no effect on client listeners and for ANONYMOUS."""
        principal = context.principal
        if principal in self._brokers or principal == ANONYMOUS or not on_internal_listener(context):
            return
        if len(self._brokers) < MAX_BROKER_PRINCIPALS:
            self._brokers.add(principal)

    def _log_once(self, context: RequestContext) -> None:
        """Log once per principal; later rejections are in the audit trail only."""
        if context.principal not in self._logged:
            self._logged.add(context.principal)
            log.warning(
                "Change by a broker's principal rejected (principal=%s, client listener=%s): log in as another "
                "user, or set signalbox.broker.principal.changes.on.client.listeners.enable",
                context.principal,
                context.listener_name,
            )
