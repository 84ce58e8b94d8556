"""Helper functions for handlers that call the authorizer: on which resources the principal may do an operation."""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer
from signalbox.security.request_context import RequestContext

# The operations of each resource type, for the authorized-operations bit fields.
SUPPORTED_OPERATIONS: dict[ResourceType, tuple[AclOperation, ...]] = {
    ResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DESCRIBE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        AclOperation.READ,
        AclOperation.DESCRIBE,
        AclOperation.DELETE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
    ),
}


def allowed_names(
    authorizer: Authorizer,
    context: RequestContext,
    operation: AclOperation,
    resource_type: ResourceType,
    names: Iterable[str],
) -> set[str]:
    """Those of `names` on which the principal may do `operation`."""
    return {name for name in set(names) if authorizer.authorize(context, operation, resource_type, name)}


def may(authorizer: Authorizer, context: RequestContext, operation: AclOperation, topic: str) -> bool:
    """Whether the principal may do `operation` on a topic."""
    return authorizer.authorize(context, operation, ResourceType.TOPIC, topic)


def may_change_records(authorizer: Authorizer, context: RequestContext, operation: AclOperation, topic: str) -> bool:
    """Whether the principal may do `operation` on the records of a topic. On client listeners the records of the audit
    topic cannot be written or deleted, whatever the authorizer returns: only brokers write it."""
    if topic == AUDIT_TOPIC and not on_internal_listener(context):
        return False
    return may(authorizer, context, operation, topic)


def may_on_cluster(authorizer: Authorizer, context: RequestContext, operation: AclOperation) -> bool:
    return authorizer.authorize(context, operation, ResourceType.CLUSTER, CLUSTER_NAME)


def require_on_cluster(authorizer: Authorizer, context: RequestContext, operation: AclOperation) -> None:
    """KafkaError(CLUSTER_AUTHORIZATION_FAILED) unless the principal may do `operation` on the cluster."""
    if not may_on_cluster(authorizer, context, operation):
        raise KafkaError(Error.CLUSTER_AUTHORIZATION_FAILED, f"no {operation.name} on the cluster")


def require_group(authorizer: Authorizer, context: RequestContext, operation: AclOperation, group_id: str) -> None:
    """KafkaError(GROUP_AUTHORIZATION_FAILED) unless the principal may do `operation` on the group."""
    if not authorizer.authorize(context, operation, ResourceType.GROUP, group_id):
        raise KafkaError(Error.GROUP_AUTHORIZATION_FAILED, f"no {operation.name} on group {group_id}")


def require_transactional_id(
    authorizer: Authorizer, context: RequestContext, operation: AclOperation, transactional_id: str
) -> None:
    """KafkaError(TRANSACTIONAL_ID_AUTHORIZATION_FAILED) unless the principal may do `operation` on the id."""
    if not authorizer.authorize(context, operation, ResourceType.TRANSACTIONAL_ID, transactional_id):
        raise KafkaError(
            Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, f"no {operation.name} on transactional id {transactional_id}"
        )


def operations_bit_field(
    authorizer: Authorizer, context: RequestContext, resource_type: ResourceType, name: str
) -> int:
    """Bit n is set when operation code n is allowed (KIP-430)."""
    bits = 0
    for operation in SUPPORTED_OPERATIONS[resource_type]:
        if authorizer.authorize(context, operation, resource_type, name):
            bits |= 1 << operation
    return bits


def on_internal_listener(context: RequestContext) -> bool:
    """Whether the connection is on an internal listener: inter-broker, control plane or privileged."""
    return context.inter_broker or context.control_plane or context.privileged
