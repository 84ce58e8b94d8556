"""What broker-to-broker requests need: CLUSTER_ACTION on the cluster, and the right door.

Between controller and brokers nobody speaks on a listener of clients: requests go to the target's control plane or
inter-broker listener (SPEC C, *Resolved*), so elsewhere they are refused whoever sends them. Without an authorizer
everybody has CLUSTER_ACTION; the door still keeps a client from posing as the controller. Replicas' fetches are not
held to it: in a rolling change of the inter-broker listener a follower may still come by the old one.
"""

from __future__ import annotations

from signalbox.broker.broker_principals import BrokerPrincipalRule
from signalbox.broker.doors import by_a_door_of_brokers
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer
from signalbox.security.request_context import RequestContext


def may_act_on_cluster(authorizer: Authorizer, context: RequestContext) -> bool:
    return authorizer.authorize(context, AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)


def acts_as_broker(authorizer: Authorizer, context: RequestContext) -> bool:
    """The same for who makes use of the right: from then on his principal is known as a broker's (F15)."""
    if not may_act_on_cluster(authorizer, context):
        return False
    if isinstance(authorizer, BrokerPrincipalRule):
        authorizer.acted(context)
    return True


def require_cluster_action(authorizer: Authorizer, context: RequestContext) -> None:
    """KafkaError(CLUSTER_AUTHORIZATION_FAILED) unless the principal may act as a broker, on a listener of brokers."""
    if not by_a_door_of_brokers(context):
        raise KafkaError(
            Error.CLUSTER_AUTHORIZATION_FAILED,
            f"controller and brokers do not speak on listener {context.listener_name}, but on "
            "inter.broker.listener.name and control.plane.listener.name",
        )
    if not acts_as_broker(authorizer, context):
        raise KafkaError(
            Error.CLUSTER_AUTHORIZATION_FAILED,
            f"{context.principal} has no CLUSTER_ACTION on the cluster",
        )
