from __future__ import annotations

import pytest

from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import AllowAllAuthorizer
from signalbox.security.forwarding_rule import ForwardedAclChangeRule, parse_networks
from signalbox.security.principal import KafkaPrincipal
from tests.security.test_acl_authorizer import context

RULE = ForwardedAclChangeRule(AllowAllAuthorizer(), parse_networks("10.0.0.0/8, fd00::/8"))
ALICE = KafkaPrincipal("User", "alice")


@pytest.mark.parametrize(
    ("address", "allowed"), [("10.1.2.3", True), ("192.168.0.1", False), ("fd00::1", True), ("::1", False)]
)
def test_forwarded_acl_changes_from_outside_are_refused(address: str, allowed: bool) -> None:
    inner = context("broker").forwarded(ALICE, address, b"")
    assert RULE.authorize(inner, AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME) is allowed
    assert RULE.authorize(inner, AclOperation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)
    assert RULE.authorize(inner, AclOperation.ALTER, ResourceType.TOPIC, "t")


def test_what_comes_straight_is_the_other_authorizers_business() -> None:
    direct = context(host="192.168.0.1")
    assert RULE.authorize(direct, AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    assert RULE.authorize_any(direct, AclOperation.WRITE, ResourceType.TOPIC)
    assert RULE.stamp == 0


def test_networks_that_are_none() -> None:
    with pytest.raises(ValueError):
        parse_networks("10.0.0.0/8,somewhere")
