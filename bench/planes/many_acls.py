"""An authorizer with 2,000 ACLs, for the guarded broker (`authorizer.class.name=bench.planes.many_acls.ManyAcls`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from signalbox.security.acl_authorizer import AclAuthorizer
from signalbox.security.acl_view import AclIndex, AclView

_TOPICS, _PER_TOPIC, _PREFIXES = 50, 30, 500


class ManyAcls(AclAuthorizer):
    """Everything is allowed for every user, but only by the last of many entries."""

    def __init__(self, _: Mapping[str, str]) -> None:
        super().__init__(AclIndex(_bindings(), stamp=1))

    def replace_view(self, view: AclView) -> None:
        """Ignores the cluster's stored ACLs (there are none)."""


def _bindings() -> Iterator[AclBinding]:
    for number in range(_PREFIXES):
        pattern = ResourcePattern(ResourceType.TOPIC, f"many-{number:03}"[: 5 + number % 4], PatternType.PREFIXED)
        yield AclBinding(pattern, _entry(f"User:prefix-{number}"))
    for topic in range(_TOPICS):
        for number in range(_PER_TOPIC):
            yield AclBinding(ResourcePattern(ResourceType.TOPIC, f"many-{topic:02}"), _entry(f"User:{topic}-{number}"))
    for type_, name in (
        (ResourceType.TOPIC, WILDCARD),
        (ResourceType.GROUP, WILDCARD),
        (ResourceType.CLUSTER, CLUSTER_NAME),
    ):
        yield AclBinding(ResourcePattern(type_, name), _entry("User:*", AclOperation.ALL))


def _entry(principal: str, operation: AclOperation = AclOperation.READ) -> AccessControlEntry:
    return AccessControlEntry(principal, WILDCARD, operation, AclPermission.ALLOW)
