"""The one right that broker-to-broker requests need: CLUSTER_ACTION on the cluster (facts: authorizer, per API)."""

from __future__ import annotations

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer
from signalbox.security.request_context import RequestContext


def may_act_on_cluster(authorizer: Authorizer, context: RequestContext) -> bool:
    return authorizer.authorize(context, AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)


def require_cluster_action(authorizer: Authorizer, context: RequestContext) -> None:
    """KafkaError(CLUSTER_AUTHORIZATION_FAILED) unless the principal may act as a broker."""
    if not may_act_on_cluster(authorizer, context):
        raise KafkaError(
            Error.CLUSTER_AUTHORIZATION_FAILED,
            f"{context.principal} has no CLUSTER_ACTION on the cluster",
        )
