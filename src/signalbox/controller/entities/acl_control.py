"""CreateAcls and DeleteAcls as decisions (KIP-140, KIP-290): each creation and each filter has a result of its own.

All ACLs of a resource pattern are written as one entry, as Kafka's AclAuthorizer does. Creating an ACL that exists
already succeeds and changes nothing. A deleted ACL that matches several filters is returned with the first of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from signalbox.controller.context import ControllerContext, StoredAcls
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.records import AclsSet
from signalbox.metadata.entries.acl_entries import encode_acls
from signalbox.metadata.store.port import MAX_ENTRY_BYTES
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from signalbox.security.acl import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_filter import AclFilter, filter_of, known_code

# Characters that an entry's name in the store cannot contain: ZooKeeper's rules hold for every store.
_NOT_IN_A_PATH = re.compile(r"[/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]")

_CreationResult = CreateAclsResponse.AclCreationResult
_FilterResult = DeleteAclsResponse.DeleteAclsFilterResult


def create_acls(context: ControllerContext, inputs: Inputs, request: CreateAclsRequest) -> Decision:
    """Add ACLs."""
    bindings = [_binding(creation) for creation in request.creations]
    problems = [_problem(binding) for binding in bindings]
    wanted: dict[ResourcePattern, dict[AccessControlEntry, None]] = defaultdict(dict)
    for binding, problem in zip(bindings, problems):
        if problem is None:
            wanted[binding.pattern][binding.entry] = None
    records, too_many = [], set()
    for pattern, more in wanted.items():
        present = context.acls[pattern].entries if pattern in context.acls else ()
        entries = tuple(dict.fromkeys((*present, *more)))
        if len(encode_acls(entries)) > MAX_ENTRY_BYTES:
            too_many.add(pattern)
        elif entries != present:
            records.append(AclsSet(pattern, entries))
    for number, binding in enumerate(bindings):
        if problems[number] is None and binding.pattern in too_many:
            problems[number] = f"too many ACLs on {binding.pattern.name}: prefixed patterns hold many names in one"
    results = [
        _CreationResult(error_code=Error.INVALID_REQUEST if text else 0, error_message=text or "") for text in problems
    ]
    return Decision(records=tuple(records), response=CreateAclsResponse(results=results))


def delete_acls(context: ControllerContext, inputs: Inputs, request: DeleteAclsRequest) -> Decision:
    """Remove the ACLs that match any filter."""
    filters = [filter_of(each) for each in request.filters]
    results = [
        _FilterResult(error_code=Error.INVALID_REQUEST if each.problem else 0, error_message=each.problem)
        for each in filters
    ]
    meant: dict[ResourcePattern, list[int]] = defaultdict(list)
    for number, each in enumerate(filters):
        if each.problem is None:
            for pattern in _patterns(each, context.acls):
                meant[pattern].append(number)
    records = []
    for pattern, numbers in meant.items():
        left = []
        for entry in context.acls[pattern].entries:
            first = next((number for number in numbers if filters[number].matches_entry(entry)), None)
            if first is None:
                left.append(entry)
            else:
                results[first].matching_acls.append(_matching(pattern, entry))
        if len(left) < len(context.acls[pattern].entries):
            records.append(AclsSet(pattern, tuple(left)))
    return Decision(records=tuple(records), response=DeleteAclsResponse(filter_results=results))


def _patterns(acl_filter: AclFilter, acls: Mapping[ResourcePattern, StoredAcls]) -> Iterable[ResourcePattern]:
    """One look-up for a filter that names its pattern; else all patterns that match the filter."""
    only = acl_filter.only_pattern
    if only is not None:
        return (only,) if only in acls else ()
    return [pattern for pattern in acls if acl_filter.matches_pattern(pattern)]


def valid_patterns(request: CreateAclsRequest) -> set[ResourcePattern]:
    """The patterns of the ACLs that are created; those of rejected ones are left out."""
    return {binding.pattern for binding in map(_binding, request.creations) if _problem(binding) is None}


def _binding(creation: Any) -> AclBinding:
    return AclBinding(
        ResourcePattern(
            known_code(ResourceType, creation.resource_type),
            creation.resource_name,
            known_code(PatternType, creation.resource_pattern_type),
        ),
        AccessControlEntry(
            creation.principal,
            creation.host,
            known_code(AclOperation, creation.operation),
            known_code(AclPermission, creation.permission_type),
        ),
    )


def _problem(binding: AclBinding) -> str | None:
    """Error message if this is not a valid ACL, else None."""
    pattern, entry, name = binding.pattern, binding.entry, binding.pattern.name
    if pattern.resource_type is ResourceType.CLUSTER and name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not name:
        return "Invalid empty resource name"
    for what, code, lowest in (
        ("resource type", pattern.resource_type, ResourceType.TOPIC),
        ("pattern type", pattern.pattern_type, PatternType.LITERAL),
        ("operation", entry.operation, AclOperation.ALL),
        ("permission type", entry.permission, AclPermission.DENY),
    ):
        if code < lowest:
            return f"Failed to create ACL: the {what} {code.name} is for filters, or not known here"
    if name in (".", "..") or _NOT_IN_A_PATH.search(name):
        return f"Failed to create ACL: {name!r} is no name that ACLs can be kept for"
    if ":" not in entry.principal:
        return f"Failed to create ACL: the principal {entry.principal!r} is not of the form Type:name"
    return None


def _matching(pattern: ResourcePattern, entry: AccessControlEntry) -> DeleteAclsResponse.DeleteAclsMatchingAcl:
    return DeleteAclsResponse.DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=pattern.resource_type,
        resource_name=pattern.name,
        pattern_type=pattern.pattern_type,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation,
        permission_type=entry.permission,
    )
