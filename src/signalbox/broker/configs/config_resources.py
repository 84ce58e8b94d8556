"""Config resources on the wire: their types, and the authorization to read or change the configs of one."""

from __future__ import annotations

from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer
from signalbox.security.request_context import RequestContext


def rejection(
    authorizer: Authorizer, context: RequestContext, operation: AclOperation, resource_type: int, name: str
) -> tuple[Error, str] | None:
    """None when the principal may do `operation` on the resource's configs, else the error for that resource."""
    if resource_type == ConfigResourceType.TOPIC:
        if not authorizer.authorize(context, operation, ResourceType.TOPIC, name):
            return Error.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed."
    elif resource_type == ConfigResourceType.GROUP:
        if not authorizer.authorize(context, operation, ResourceType.GROUP, name):
            return Error.GROUP_AUTHORIZATION_FAILED, "Group authorization failed."
    elif resource_type in (
        ConfigResourceType.BROKER,
        ConfigResourceType.BROKER_LOGGER,
        ConfigResourceType.CLIENT_METRICS,
    ):
        if not authorizer.authorize(context, operation, ResourceType.CLUSTER, CLUSTER_NAME):
            return Error.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
    else:
        return Error.INVALID_REQUEST, f"Unknown resource type {resource_type}."
    return None
