"""Requirements for requests of brokers: CLUSTER_ACTION on the cluster, and an internal listener.

Brokers and the controller use the inter-broker, control plane and privileged listeners (SPEC C, *Resolved*). A cluster
action or a replica's request on another listener is rejected for every principal: without an authorizer every principal
has CLUSTER_ACTION, and a client could act as the controller, or as a follower that reports a false fetch offset.

While listeners are changed in a rolling restart (L12) further listeners are accepted. `peer_listeners` are those that
the registration of some broker still names as its inter-broker listener; there the principal of an authenticated broker
is accepted too. Brokers of this release connect to the listener that their target names, and need this only until they
have read its registration; Apache Kafka's brokers connect by their own configuration. ANONYMOUS is accepted only on
this broker's own internal listeners.
"""

from __future__ import annotations

from collections.abc import Container

from signalbox.broker.authorization.authorization import on_internal_listener
from signalbox.broker.authorization.broker_principals import BrokerPrincipalRule
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import AllowAllAuthorizer, Authorizer
from signalbox.security.principal import ANONYMOUS
from signalbox.security.request_context import RequestContext


def may_act_on_cluster(authorizer: Authorizer, context: RequestContext) -> bool:
    return authorizer.authorize(context, AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)


def acts_as_broker(authorizer: Authorizer, context: RequestContext) -> bool:
    """Whether the principal has CLUSTER_ACTION. If so, it is remembered as a broker's principal (F15)."""
    if not may_act_on_cluster(authorizer, context):
        return False
    if isinstance(authorizer, BrokerPrincipalRule):
        authorizer.record_cluster_action(context)
    return True


def acts_as_replica(authorizer: Authorizer, context: RequestContext, peer_listeners: Container[str] = ()) -> bool:
    """Whether a Fetch or OffsetForLeaderEpoch with a replica id is accepted as a replica's request."""
    return _is_peer_listener(authorizer, context, peer_listeners) and acts_as_broker(authorizer, context)


def require_cluster_action(
    authorizer: Authorizer, context: RequestContext, peer_listeners: Container[str] = ()
) -> None:
    """KafkaError(CLUSTER_AUTHORIZATION_FAILED) unless the principal may act as a broker on this listener."""
    if not _is_peer_listener(authorizer, context, peer_listeners):
        raise KafkaError(
            Error.CLUSTER_AUTHORIZATION_FAILED,
            f"requests of the controller and brokers are not accepted on listener {context.listener_name}, but on "
            "inter.broker.listener.name and control.plane.listener.name",
        )
    if not acts_as_broker(authorizer, context):
        raise KafkaError(
            Error.CLUSTER_AUTHORIZATION_FAILED,
            f"{context.principal} has no CLUSTER_ACTION on the cluster",
        )


def _is_peer_listener(authorizer: Authorizer, context: RequestContext, peer_listeners: Container[str]) -> bool:
    if on_internal_listener(context):
        return True
    return context.listener_name in peer_listeners and _is_authenticated_broker(authorizer, context)


def _is_authenticated_broker(authorizer: Authorizer, context: RequestContext) -> bool:
    """Whether the principal is not ANONYMOUS and can be a broker's. With an authorizer CLUSTER_ACTION decides that
    (`acts_as_broker`); without one the principal must have record_cluster_action as a broker before."""
    if context.principal == ANONYMOUS:
        return False
    if isinstance(authorizer, BrokerPrincipalRule):
        return authorizer.is_broker(context.principal) or not authorizer.allows_all
    return not isinstance(authorizer, AllowAllAuthorizer)
