from __future__ import annotations

import pytest

from signalbox.security.acl import AclOperation, AclPermission, PatternType, ResourceType


@pytest.mark.parametrize(
    ("member", "number"),
    [
        (AclOperation.ALL, 2),
        (AclOperation.DESCRIBE, 8),
        (AclOperation.CLUSTER_ACTION, 9),
        (AclOperation.IDEMPOTENT_WRITE, 12),
        (AclOperation.DESCRIBE_TOKENS, 14),
        (ResourceType.TOPIC, 2),
        (ResourceType.CLUSTER, 4),
        (ResourceType.USER, 7),
        (PatternType.LITERAL, 3),
        (PatternType.PREFIXED, 4),
        (AclPermission.DENY, 2),
        (AclPermission.ALLOW, 3),
    ],
)
def test_kafkas_numbers_on_the_wire(member: int, number: int) -> None:
    assert member == number
