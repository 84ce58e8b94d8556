"""ACLs: DescribeAcls, CreateAcls, DeleteAcls (KIP-140, KIP-290). The requests may go to any node (F13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from signalbox.client.admin_apis.admin_call import AdminCall, AdminResult, result_of
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.describe_acls import DescribeAclsRequest
from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_filter import AclFilter, known_code


class AclAdmin(AdminCall):
    async def describe_acls(
        self, acl_filter: AclFilter | None = None, *, timeout_ms: float | None = None
    ) -> list[AclBinding]:
        """The ACLs that match a filter, all ACLs without one; KafkaError."""
        response = await self._ask(DescribeAclsRequest(**_fields(acl_filter or AclFilter())), timeout_ms)
        return [AclBinding(_pattern(row), _entry(acl)) for row in response.resources for acl in row.acls]

    async def create_acls(
        self, bindings: Sequence[AclBinding], *, timeout_ms: float | None = None
    ) -> dict[AclBinding, AdminResult]:
        """Add ACLs; the result of each."""
        creations = [
            CreateAclsRequest.AclCreation(
                resource_type=binding.pattern.resource_type,
                resource_name=binding.pattern.name,
                resource_pattern_type=binding.pattern.pattern_type,
                principal=binding.entry.principal,
                host=binding.entry.host,
                operation=binding.entry.operation,
                permission_type=binding.entry.permission,
            )
            for binding in bindings
        ]
        response = await self._ask(CreateAclsRequest(creations=creations), timeout_ms)
        return {
            binding: result_of(text_of(binding), row.error_code, row.error_message)
            for binding, row in zip(bindings, response.results, strict=True)
        }

    async def delete_acls(
        self, acl_filters: Sequence[AclFilter], *, timeout_ms: float | None = None
    ) -> list[AclBinding]:
        """Delete the ACLs that match any of the filters; returns them. KafkaError when a filter was rejected."""
        filters = [DeleteAclsRequest.DeleteAclsFilter(**_fields(acl_filter)) for acl_filter in acl_filters]
        response = await self._ask(DeleteAclsRequest(filters=filters), timeout_ms)
        for row in response.filter_results:
            result_of("a filter", row.error_code, row.error_message).raise_for_error()
        return [AclBinding(_pattern(acl), _entry(acl)) for row in response.filter_results for acl in row.matching_acls]


def text_of(binding: AclBinding) -> str:
    """An ACL as one line: `User:alice may READ TOPIC flights from *`."""
    pattern, entry = binding.pattern, binding.entry
    name = f"{pattern.name}*" if pattern.pattern_type is PatternType.PREFIXED else pattern.name
    verb = "may" if entry.permission is AclPermission.ALLOW else "may not"
    return f"{entry.principal} {verb} {entry.operation.name} {pattern.resource_type.name} {name} from {entry.host}"


def _fields(acl_filter: AclFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": acl_filter.resource_type,
        "resource_name_filter": acl_filter.name,
        "pattern_type_filter": acl_filter.pattern_type,
        "principal_filter": acl_filter.principal,
        "host_filter": acl_filter.host,
        "operation": acl_filter.operation,
        "permission_type": acl_filter.permission,
    }


def _pattern(row: Any) -> ResourcePattern:
    return ResourcePattern(
        known_code(ResourceType, row.resource_type), row.resource_name, known_code(PatternType, row.pattern_type)
    )


def _entry(acl: Any) -> AccessControlEntry:
    return AccessControlEntry(
        acl.principal,
        acl.host,
        known_code(AclOperation, acl.operation),
        known_code(AclPermission, acl.permission_type),
    )
