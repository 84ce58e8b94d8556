"""DescribeAcls (key 29), CreateAcls (key 30), DeleteAcls (key 31): ACLs (KIP-140, KIP-290). Versions 1-3.

DescribeAcls needs DESCRIBE on the cluster and is handled by any broker; changes need ALTER and are handled by the
active controller. Without an authorizer that uses ACLs all three return SECURITY_DISABLED: an ACL without effect would
look like protection. An unknown code is INVALID_REQUEST; Kafka closes the connection instead.
"""

from __future__ import annotations

from functools import partial

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import require_on_cluster
from signalbox.broker.authorization.cluster_rights import require_cluster_right
from signalbox.broker.ports import ActiveController
from signalbox.common.cooperative_task import yielding
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.metadata.acl_repository import AclRepository
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_acls import DescribeAclsResponse
from signalbox.security.acl import AccessControlEntry, AclOperation
from signalbox.security.acl_filter import AclFilter, filter_of
from signalbox.security.acl_view import AclIndex
from signalbox.security.authorizer import Authorizer

_Resource = DescribeAclsResponse.DescribeAclsResource
_NO_ACLS = "ACLs have no effect here: authorizer.class.name names no authorizer that keeps them"


class DescribeAclsHandler:
    """`acls` is None when the authorizer does not use ACLs."""

    def __init__(self, acls: AclRepository | None, authorizer: Authorizer, scheduler: TaskScheduler) -> None:
        self._acls = acls
        self._authorizer = authorizer
        self._scheduler = scheduler

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE)
        if self._acls is None:
            raise KafkaError(Error.SECURITY_DISABLED, _NO_ACLS)
        acl_filter = filter_of(request.body)
        if acl_filter.problem is not None:
            raise KafkaError(Error.INVALID_REQUEST, acl_filter.problem)
        return self._describe(self._acls, acl_filter)

    async def _describe(self, acls: AclRepository, acl_filter: AclFilter) -> FinalResponse:
        index = await acls.current()
        return await self._scheduler.result_of(partial(_matching, index, acl_filter))


class AlterAclsHandler:
    """CreateAcls and DeleteAcls: they differ in the controller's decision, not in authorization."""

    def __init__(
        self, api_key: ApiKey, controller: ActiveController, authorizer: Authorizer, *, keeps_acls: bool
    ) -> None:
        self._api_key = api_key
        self._controller = controller
        self._authorizer = authorizer
        self._keeps_acls = keeps_acls

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_cluster_right(self._authorizer, request.context, self._api_key)
        if not self._keeps_acls:
            raise KafkaError(Error.SECURITY_DISABLED, _NO_ACLS)
        return self._controller.handle(self._api_key, request.body, request.context)


def _matching(index: AclIndex, acl_filter: AclFilter) -> DescribeAclsResponse:
    """Yields."""
    resources: list[_Resource] = []
    for pattern, entries in yielding(index.patterns()):
        if not acl_filter.matches_pattern(pattern):
            continue
        descriptions = [_described(entry) for entry in yielding(entries) if acl_filter.matches_entry(entry)]
        if descriptions:
            resources.append(
                _Resource(
                    resource_type=pattern.resource_type,
                    resource_name=pattern.name,
                    pattern_type=pattern.pattern_type,
                    acls=descriptions,
                )
            )
    return DescribeAclsResponse(resources=resources)


def _described(entry: AccessControlEntry) -> DescribeAclsResponse.AclDescription:
    return DescribeAclsResponse.AclDescription(
        principal=entry.principal, host=entry.host, operation=entry.operation, permission_type=entry.permission
    )
