"""ACLs of test users as text: `WRITE orders`, `READ GROUP payments`, `ALL TOPIC eu-*`, `DESCRIBE CLUSTER`.

An operation, a type of resource (TOPIC if it is left out) and a name. `*` is every name, and a name that ends with it
is the beginning of names. The cluster has no name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from signalbox.protocol.messages.describe_acls import DescribeAclsRequest
from signalbox.security.acl import (
    CLUSTER_NAME,
    WILDCARD,
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_filter import AclFilter

if TYPE_CHECKING:
    from signalbox.client.admin import AdminClient

_TIMEOUT_S = 60.0
_PAUSE_S = 0.002
_OPERATIONS = {each.name: each for each in AclOperation if each >= AclOperation.ALL}
_RESOURCES = {each.name: each for each in ResourceType if each >= ResourceType.TOPIC}


def acls_of(texts_by_user: Mapping[str, Sequence[str]]) -> list[AclBinding]:
    """The ACLs that the texts give to the users; ValueError says what is wrong with a text."""
    for user, texts in texts_by_user.items():
        if isinstance(texts, str):
            raise ValueError(f"the ACLs of {user} are a list of texts, as ['WRITE orders'], not {texts!r}")
    return [acl_of(user, text) for user, texts in texts_by_user.items() for text in texts]


def acl_of(user: str, text: str) -> AclBinding:
    """The ACL that one text gives to a user; ValueError."""
    operation, *resource = text.split() or [""]
    if operation not in _OPERATIONS:
        raise ValueError(f"{text!r}: {operation!r} is no operation; there are {', '.join(_OPERATIONS)}")
    entry = AccessControlEntry(f"User:{user}", WILDCARD, _OPERATIONS[operation], AclPermission.ALLOW)
    return AclBinding(_pattern(text, resource), entry)


def _pattern(text: str, resource: list[str]) -> ResourcePattern:
    if resource == [ResourceType.CLUSTER.name]:
        return ResourcePattern(ResourceType.CLUSTER, CLUSTER_NAME)
    kind, *names = resource if len(resource) > 1 else [ResourceType.TOPIC.name, *resource]
    if kind not in _RESOURCES or len(names) != 1:
        raise ValueError(f"{text!r} is no ACL: 'WRITE orders', 'READ GROUP payments', 'ALL TOPIC eu-*' are")
    (name,) = names
    if name != WILDCARD and name.endswith(WILDCARD):
        return ResourcePattern(_RESOURCES[kind], name.removesuffix(WILDCARD), PatternType.PREFIXED)
    return ResourcePattern(_RESOURCES[kind], name)


async def create_acls(admin: AdminClient, acls: Sequence[AclBinding]) -> None:
    """Returns when every broker that runs has the ACLs. KafkaError if one is rejected, TimeoutError."""
    results, cluster = await asyncio.gather(admin.create_acls(acls), admin.describe_cluster())
    for result in results.values():
        result.raise_for_error()
    async with asyncio.timeout(_TIMEOUT_S):
        for node in cluster.nodes:
            while await _count_at(admin, node.node_id) < len(set(acls)):  # noqa: ASYNC110 - no event of another process
                await asyncio.sleep(_PAUSE_S)


async def _count_at(admin: AdminClient, node_id: int) -> int:
    """How many ACLs a broker has."""
    every = AclFilter()
    request = DescribeAclsRequest(
        resource_type_filter=every.resource_type,
        resource_name_filter=every.name,
        pattern_type_filter=every.pattern_type,
        principal_filter=every.principal,
        host_filter=every.host,
        operation=every.operation,
        permission_type=every.permission,
    )
    response = await admin.client.request(node_id, request)
    return sum(len(row.acls) for row in response.resources)
