"""Filters match as Kafka's ResourcePatternFilter and AccessControlEntryFilter do."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.messages.describe_acls import DescribeAclsRequest
from signalbox.security.acl import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_filter import AclFilter, filter_of, known_code

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
PATTERNS = {
    "flights": ResourcePattern(TOPIC, "flights"),
    "star": ResourcePattern(TOPIC, "*"),
    "fl-": ResourcePattern(TOPIC, "fl", PatternType.PREFIXED),
    "flights-": ResourcePattern(TOPIC, "flights", PatternType.PREFIXED),
    "group": ResourcePattern(GROUP, "flights"),
}
READ = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
DENY = AccessControlEntry("User:*", "10.0.0.1", AclOperation.ALL, AclPermission.DENY)


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({}, "flights star fl- flights- group"),
        ({"resource_type": GROUP}, "group"),
        ({"name": "flights"}, "flights flights- group"),
        ({"name": "flights", "resource_type": TOPIC, "pattern_type": PatternType.LITERAL}, "flights"),
        ({"name": "flights", "pattern_type": PatternType.PREFIXED}, "flights-"),
        ({"pattern_type": PatternType.PREFIXED}, "fl- flights-"),
        ({"name": "flights", "resource_type": TOPIC, "pattern_type": PatternType.MATCH}, "flights star fl- flights-"),
        ({"name": "flock", "resource_type": TOPIC, "pattern_type": PatternType.MATCH}, "star fl-"),
        ({"name": "*", "pattern_type": PatternType.MATCH}, "star"),
        ({"pattern_type": PatternType.MATCH}, "flights star fl- flights- group"),
        ({"name": "*"}, "star"),
    ],
)
def test_which_patterns(fields: dict[str, Any], meant: str) -> None:
    asked = AclFilter(**fields)
    assert [name for name, pattern in PATTERNS.items() if asked.matches_pattern(pattern)] == meant.split()
    if asked.only_pattern is not None:
        assert [PATTERNS[name] for name in meant.split()] == [asked.only_pattern]


@pytest.mark.parametrize(
    ("fields", "meant"),
    [
        ({}, [READ, DENY]),
        ({"principal": "User:a"}, [READ]),
        ({"principal": "User:*"}, [DENY]),
        ({"host": "*"}, [READ]),
        ({"operation": AclOperation.ALL}, [DENY]),
        ({"permission": AclPermission.DENY}, [DENY]),
        ({"principal": "User:a", "permission": AclPermission.DENY}, []),
    ],
)
def test_which_entries(fields: dict[str, Any], meant: list[AccessControlEntry]) -> None:
    asked = AclFilter(**fields)
    assert [entry for entry in (READ, DENY) if asked.matches_entry(entry)] == meant


def test_out_of_a_request() -> None:
    request = DescribeAclsRequest(
        resource_type_filter=2,
        resource_name_filter="t",
        pattern_type_filter=2,
        principal_filter=None,
        host_filter="*",
        operation=1,
        permission_type=3,
    )
    assert filter_of(request) == AclFilter(TOPIC, "t", PatternType.MATCH, None, "*", permission=AclPermission.ALLOW)


def test_codes_that_are_not_known_mean_nothing() -> None:
    assert known_code(ResourceType, 99) is ResourceType.UNKNOWN
    assert AclFilter().problem is None
    for field, unknown in (
        ("resource_type", ResourceType.UNKNOWN),
        ("pattern_type", PatternType.UNKNOWN),
        ("operation", AclOperation.UNKNOWN),
        ("permission", AclPermission.UNKNOWN),
    ):
        asked: dict[str, Any] = {field: unknown}
        assert AclFilter(**asked).problem is not None
