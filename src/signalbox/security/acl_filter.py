"""Filters of DescribeAcls and DeleteAcls: which ACLs they match (KIP-290's MATCH included).

A null name, principal or host, and ANY, match every value. Principals and hosts are compared as text: `User:*` in a
filter matches the ACLs for `User:*`, and no others.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

from signalbox.security.acl import (
    WILDCARD,
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)

Code = TypeVar("Code", bound=IntEnum)


@dataclass(frozen=True, slots=True)
class AclFilter:
    """The fields of a filter; None and ANY match every value."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY

    @property
    def problem(self) -> str | None:
        """Why the filter is invalid: it has an unknown code. None when it is valid."""
        if self.resource_type is ResourceType.UNKNOWN or self.pattern_type is PatternType.UNKNOWN:
            return "Unknown patternFilter."
        if self.operation is AclOperation.UNKNOWN or self.permission is AclPermission.UNKNOWN:
            return "Unknown entryFilter."
        return None

    @property
    def only_pattern(self) -> ResourcePattern | None:
        """The only pattern that the filter can match; None when it can match several."""
        if self.name is None or self.resource_type is ResourceType.ANY:
            return None
        if self.pattern_type in (PatternType.ANY, PatternType.MATCH):
            return None
        return ResourcePattern(self.resource_type, self.name, self.pattern_type)

    def matches_pattern(self, pattern: ResourcePattern) -> bool:
        """Whether the filter can match ACLs of this pattern. MATCH: those that would apply to the name."""
        if self.resource_type not in (ResourceType.ANY, pattern.resource_type):
            return False
        if self.pattern_type is PatternType.MATCH:
            return self.name is None or _applies(pattern, self.name)
        return self.pattern_type in (PatternType.ANY, pattern.pattern_type) and self.name in (None, pattern.name)

    def matches_entry(self, entry: AccessControlEntry) -> bool:
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission in (AclPermission.ANY, entry.permission)
        )


def filter_of(request: Any) -> AclFilter:
    """The filter in a DescribeAcls request or in an entry of DeleteAcls, which have the same fields."""
    return AclFilter(
        known_code(ResourceType, request.resource_type_filter),
        request.resource_name_filter,
        known_code(PatternType, request.pattern_type_filter),
        request.principal_filter,
        request.host_filter,
        known_code(AclOperation, request.operation),
        known_code(AclPermission, request.permission_type),
    )


def known_code(codes: type[Code], number: int) -> Code:
    """The code for a number of the protocol; UNKNOWN (0) for an unknown number."""
    try:
        return codes(number)
    except ValueError:
        return codes(0)


def _applies(pattern: ResourcePattern, name: str) -> bool:
    if pattern.pattern_type is PatternType.PREFIXED:
        return name.startswith(pattern.name)
    return pattern.name in (name, WILDCARD)
