"""A principal that acted as a broker may not make changes on client listeners; others are not affected (F15)."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.authorization.authorization import operations_bit_field
from signalbox.broker.authorization.broker_principals import BrokerPrincipalRule
from signalbox.broker.authorization.cluster_action import acts_as_broker, may_act_on_cluster
from signalbox.common.endpoint import SecurityProtocol
from signalbox.common.limits import MAX_BROKER_PRINCIPALS
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.authorizer import AllowAllAuthorizer, Authorizer
from signalbox.security.principal import ANONYMOUS
from signalbox.security.request_context import RequestContext
from tests.broker.handler_requests import acl, context

pytestmark = pytest.mark.spec("F15")

_CHANGES = {"CREATE", "DELETE", "ALTER", "ALTER_CONFIGS", "CREATE_TOKENS"}


def may(rule: Authorizer, who: RequestContext, operation: AclOperation = AclOperation.CREATE) -> bool:
    return rule.authorize(who, operation, ResourceType.TOPIC, "t")


@pytest.mark.parametrize("broker_listener", [{"inter_broker": True}, {"control_plane": True}, {"privileged": True}])
@pytest.mark.parametrize("operation", [each for each in AclOperation if each.name not in ("UNKNOWN", "ANY", "ALL")])
def test_changes_are_rejected_on_client_listeners_only(operation: AclOperation, broker_listener: Any) -> None:
    rule = BrokerPrincipalRule(AllowAllAuthorizer())
    at_clients, at_brokers = context("broker"), context("broker", "REPLICATION", **broker_listener)
    assert may(rule, at_clients, operation), "the principal is not known as a broker yet"
    assert acts_as_broker(rule, at_brokers)
    assert may(rule, at_clients, operation) == (operation.name not in _CHANGES)
    assert may(rule, at_brokers, operation)
    assert may(rule, context("alice"), operation)


def test_a_broker_principal_needs_the_right_and_an_internal_listener() -> None:
    rule = BrokerPrincipalRule(acl(("broker", "CLUSTER_ACTION", "cluster"), ("mallory", "CREATE", "t")))
    assert not acts_as_broker(rule, context("mallory", "REPLICATION", inter_broker=True))
    assert may(rule, context("mallory"))
    rule = BrokerPrincipalRule(AllowAllAuthorizer())
    assert acts_as_broker(rule, context("alice"))  # on a client listener: the handler itself checks the listener
    assert may(rule, context("alice"))


def test_to_have_the_right_is_not_to_act() -> None:
    """An administrator's tools may query authorized operations on a broker listener, or read there."""
    rule = BrokerPrincipalRule(AllowAllAuthorizer())
    admin = context("admin", "REPLICATION", inter_broker=True)
    assert may_act_on_cluster(rule, admin)
    assert operations_bit_field(rule, admin, ResourceType.CLUSTER, CLUSTER_NAME)
    assert may(rule, context("admin"))


def test_anonymous_never_counts() -> None:
    rule = BrokerPrincipalRule(AllowAllAuthorizer())
    where = ("c-1", "L", SecurityProtocol.PLAINTEXT, "10.0.0.7", b"\x0a\0\0\7")
    at_brokers, at_clients = RequestContext(*where, inter_broker=True), RequestContext(*where)
    assert at_brokers.principal == ANONYMOUS
    assert acts_as_broker(rule, at_brokers)
    assert may(rule, at_clients)


def test_a_forwarded_request_was_authorized_on_the_first_broker() -> None:
    """Its context has the listener of the forwarding broker's connection."""
    rule = BrokerPrincipalRule(AllowAllAuthorizer())
    hop = context("broker", "REPLICATION", inter_broker=True)
    assert acts_as_broker(rule, hop)
    assert may(rule, hop.forwarded(hop.principal, "10.0.0.9", b"\x0a\0\0\x09", 19))


def test_the_authorizer_behind_it_decides_everything_else() -> None:
    inner = acl(("alice", "WRITE", "t"))
    rule = BrokerPrincipalRule(inner)
    assert rule.stamp == inner.stamp
    assert may(rule, context("alice"), AclOperation.WRITE)
    assert not may(rule, context("alice"))
    assert rule.authorize_any(context("alice"), AclOperation.WRITE, ResourceType.TOPIC)
    assert not rule.authorize_any(context("bob"), AclOperation.WRITE, ResourceType.TOPIC)


def test_it_is_logged_once_and_names_the_key(caplog: pytest.LogCaptureFixture) -> None:
    rule = BrokerPrincipalRule(AllowAllAuthorizer())
    acts_as_broker(rule, context("broker", inter_broker=True))
    assert [may(rule, context("broker")) for _ in range(3)] == [False] * 3
    [record] = caplog.records
    assert "User:broker" in record.message
    assert "signalbox.broker.principal.changes.on.client.listeners.enable" in record.message


def test_there_is_an_end_to_how_many_are_remembered() -> None:
    rule = BrokerPrincipalRule(AllowAllAuthorizer())
    for number in range(MAX_BROKER_PRINCIPALS + 1):
        acts_as_broker(rule, context(f"broker-{number}", inter_broker=True))
    assert not may(rule, context(f"broker-{MAX_BROKER_PRINCIPALS - 1}"))
    assert may(rule, context(f"broker-{MAX_BROKER_PRINCIPALS}"))
