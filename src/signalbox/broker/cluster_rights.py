"""Which right on the cluster a change needs that the active controller decides whole.

Two readers: the broker that is asked, which does not even forward what its client may not do (F6), and the handler on
the active controller, which judges again by the original principal and host. APIs that are judged resource by resource
have no row here but one in `resource_requests.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.broker.authorization import require_on_cluster
from signalbox.protocol.api_table import ApiKey
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.security.request_context import RequestContext

CLUSTER_RIGHTS: Mapping[int, AclOperation] = {
    ApiKey.CREATE_ACLS: AclOperation.ALTER,
    ApiKey.DELETE_ACLS: AclOperation.ALTER,
    ApiKey.ELECT_LEADERS: AclOperation.ALTER,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: AclOperation.ALTER,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: AclOperation.DESCRIBE,
    ApiKey.ALTER_CLIENT_QUOTAS: AclOperation.ALTER_CONFIGS,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: AclOperation.ALTER,
    ApiKey.UPDATE_FEATURES: AclOperation.ALTER,
}


def require_cluster_right(authorizer: Authorizer, context: RequestContext, api_key: int) -> None:
    """KafkaError(CLUSTER_AUTHORIZATION_FAILED) unless the principal has the right that the API needs."""
    require_on_cluster(authorizer, context, CLUSTER_RIGHTS[api_key])
