"""The right on the cluster that a change needs, for APIs that the active controller authorizes as a whole.

The table is read twice: by the broker that receives the request, which does not forward what the client may not do
(F6), and by the handler on the active controller, which authorizes again with the original principal and host. APIs
that are authorized resource by resource are in `resource_requests.py` instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.broker.authorization.authorization import require_on_cluster
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
