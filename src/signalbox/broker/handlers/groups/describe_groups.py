"""DescribeGroups (15), ListGroups (16), DeleteGroups (42): describe, list and delete groups.
Versions 0-6, 0-5, 0-3.

DescribeGroups needs DESCRIBE and DeleteGroups DELETE on each group; each other group has GROUP_AUTHORIZATION_FAILED.
ListGroups returns all groups with DESCRIBE on the cluster, else the groups on which the principal has DESCRIBE.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult, as_future
from signalbox.broker.authorization.authorization import allowed_names, may_on_cluster, operations_bit_field
from signalbox.broker.handlers.groups.group_membership import client_context
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from signalbox.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer


class DescribeGroupsHandler:
    def __init__(self, coordinator: GroupCoordinator, authorizer: Authorizer) -> None:
        self._coordinator = coordinator
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        return self._describe(request)

    async def _describe(self, request: ApiRequest) -> FinalResponse:
        body: DescribeGroupsRequest = request.body
        allowed = allowed_names(
            self._authorizer, request.context, AclOperation.DESCRIBE, ResourceType.GROUP, body.groups
        )
        allowed_request = DescribeGroupsRequest(groups=[group for group in body.groups if group in allowed])
        described = self._coordinator.describe_groups(allowed_request, client_context(request))
        response: DescribeGroupsResponse = await as_future(described)
        if body.include_authorized_operations:
            for group in response.groups:
                group.authorized_operations = operations_bit_field(
                    self._authorizer, request.context, ResourceType.GROUP, group.group_id
                )
        response.groups += [
            DescribeGroupsResponse.DescribedGroup(group_id=group, error_code=Error.GROUP_AUTHORIZATION_FAILED)
            for group in body.groups
            if group not in allowed
        ]
        return response


class ListGroupsHandler:
    def __init__(self, coordinator: GroupCoordinator, authorizer: Authorizer) -> None:
        self._coordinator = coordinator
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        response = self._coordinator.list_groups(request.body, client_context(request)).result()
        if not may_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE):
            names = [group.group_id for group in response.groups]
            allowed = allowed_names(self._authorizer, request.context, AclOperation.DESCRIBE, ResourceType.GROUP, names)
            response.groups = [group for group in response.groups if group.group_id in allowed]
        return response


class DeleteGroupsHandler:
    def __init__(self, coordinator: GroupCoordinator, authorizer: Authorizer) -> None:
        self._coordinator = coordinator
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        return self._delete(request)

    async def _delete(self, request: ApiRequest) -> FinalResponse:
        body: DeleteGroupsRequest = request.body
        allowed = allowed_names(
            self._authorizer, request.context, AclOperation.DELETE, ResourceType.GROUP, body.groups_names
        )
        allowed_request = DeleteGroupsRequest(groups_names=[group for group in body.groups_names if group in allowed])
        deleted = self._coordinator.delete_groups(allowed_request, client_context(request))
        response: DeleteGroupsResponse = await as_future(deleted)
        response.results += [
            DeleteGroupsResponse.DeletableGroupResult(group_id=group, error_code=Error.GROUP_AUTHORIZATION_FAILED)
            for group in body.groups_names
            if group not in allowed
        ]
        return response
