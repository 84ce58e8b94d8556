"""Kafka's decision procedure as a table."""

from __future__ import annotations

import pytest

from signalbox.common.endpoint import SecurityProtocol
from signalbox.protocol.api_table import ApiKey
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
from signalbox.security.acl_authorizer import AclAuthorizer, is_rejected_forward, parse_networks
from signalbox.security.acl_view import AclIndex
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext

TOPIC = ResourceType.TOPIC
Op = AclOperation


def context(user: str = "alice", host: str = "10.0.0.1") -> RequestContext:
    return RequestContext("c", "CLIENT", SecurityProtocol.SASL_SSL, host, b"", principal=KafkaPrincipal("User", user))


def acl(text: str) -> AclBinding:
    """`ALLOW User:alice READ on topic from *`; a trailing `...` makes the topic a prefix."""
    permission, principal, operation, _, name, _, host = text.split()
    prefixed = name.endswith("...")
    pattern = ResourcePattern(
        TOPIC, name.removesuffix("..."), PatternType.PREFIXED if prefixed else PatternType.LITERAL
    )
    return AclBinding(pattern, AccessControlEntry(principal, host, AclOperation[operation], AclPermission[permission]))


@pytest.mark.parametrize(
    ("acls", "operation", "allowed"),
    [
        (["ALLOW User:alice READ on t from *"], Op.READ, True),
        (["ALLOW User:bob READ on t from *"], Op.READ, False),
        (["ALLOW User:* READ on t from *"], Op.READ, True),
        (["ALLOW User:alice READ on t from 10.0.0.1"], Op.READ, True),
        (["ALLOW User:alice READ on t from 10.0.0.2"], Op.READ, False),
        (["ALLOW User:alice ALL on t from *"], Op.WRITE, True),
        (["ALLOW User:alice READ on * from *"], Op.READ, True),
        (["ALLOW User:alice READ on t... from *"], Op.READ, True),
        (["ALLOW User:alice READ on T from *"], Op.READ, False),
        (["ALLOW User:alice READ on t from *"], Op.DESCRIBE, True),
        (["ALLOW User:alice WRITE on t from *"], Op.DESCRIBE, True),
        (["ALLOW User:alice DELETE on t from *"], Op.DESCRIBE, True),
        (["ALLOW User:alice ALTER on t from *"], Op.DESCRIBE, True),
        (["ALLOW User:alice ALTER on t from *"], Op.READ, False),
        (["ALLOW User:alice CREATE on t from *"], Op.DESCRIBE, False),
        (["ALLOW User:alice ALTER_CONFIGS on t from *"], Op.DESCRIBE_CONFIGS, True),
        (["ALLOW User:alice DESCRIBE on t from *"], Op.READ, False),
        (["ALLOW User:alice READ on t from *", "DENY User:alice READ on t from *"], Op.READ, False),
        (["ALLOW User:alice READ on t from *", "DENY User:* ALL on * from *"], Op.READ, False),
        (["ALLOW User:alice ALL on t from *", "DENY User:alice READ on t from *"], Op.DESCRIBE, True),
        (["ALLOW User:alice ALL on t from *", "DENY User:alice READ on t from 10.0.0.2"], Op.READ, True),
    ],
)
def test_decisions(acls: list[str], operation: AclOperation, allowed: bool) -> None:
    authorizer = AclAuthorizer(AclIndex(map(acl, acls)))
    assert authorizer.authorize(context(), operation, TOPIC, "t") is allowed


@pytest.mark.parametrize("everyone", [False, True])
def test_a_resource_without_any_acl(everyone: bool) -> None:
    authorizer = AclAuthorizer(
        AclIndex([acl("ALLOW User:bob WRITE on other from *")]), allow_everyone_if_no_acl_found=everyone
    )
    assert authorizer.authorize(context(), Op.READ, TOPIC, "t") is everyone
    # with an ACL on the resource, for any principal, allow.everyone.if.no.acl.found does not apply
    assert not authorizer.authorize(context(), Op.READ, TOPIC, "other")


def test_super_users_may_whatever_is_denied() -> None:
    authorizer = AclAuthorizer(
        AclIndex([acl("DENY User:* ALL on * from *")]), super_users=[KafkaPrincipal("User", "root")]
    )
    assert authorizer.authorize(context("root"), Op.DELETE, TOPIC, "t")
    assert authorizer.authorize_any(context("root"), Op.WRITE, TOPIC)
    assert not authorizer.authorize(context("alice"), Op.READ, TOPIC, "t")


@pytest.mark.parametrize(
    ("acls", "everyone", "allowed"),
    [
        ([], False, False),
        ([], True, True),
        (["ALLOW User:alice WRITE on t from *"], False, True),
        (["ALLOW User:alice WRITE on t from *", "DENY User:alice WRITE on t from *"], False, False),
        (["ALLOW User:alice WRITE on t1 from *", "DENY User:alice WRITE on t... from *"], False, False),
        (["ALLOW User:alice WRITE on t1... from *", "DENY User:alice WRITE on t... from *"], False, False),
        (["ALLOW User:alice WRITE on t... from *", "DENY User:alice WRITE on t1... from *"], False, True),
        (["ALLOW User:alice WRITE on * from *", "DENY User:alice WRITE on t... from *"], False, True),
        (["ALLOW User:alice WRITE on t from *", "DENY User:alice ALL on * from *"], False, False),
        (["DENY User:alice WRITE on * from *"], True, False),
        (["DENY User:alice WRITE on t from *"], True, True),
    ],
)
def test_any_resource_of_a_type(acls: list[str], everyone: bool, allowed: bool) -> None:
    authorizer = AclAuthorizer(AclIndex(map(acl, acls)), allow_everyone_if_no_acl_found=everyone)
    assert authorizer.authorize_any(context(), Op.WRITE, TOPIC) is allowed


def test_a_new_view_moves_the_stamp() -> None:
    authorizer = AclAuthorizer()
    assert authorizer.stamp == 0
    authorizer.replace_view(AclIndex([acl("ALLOW User:alice READ on t from *")], stamp=1))
    assert authorizer.stamp == 1
    assert authorizer.authorize(context(), Op.READ, TOPIC, "t")


@pytest.mark.parametrize("written", ["::1", "0:0:0:0:0:0:0:1", "*"])
def test_ipv6_as_python_and_as_java_write_it(written: str) -> None:
    denies = AclAuthorizer(AclIndex([acl(f"DENY User:* READ on t from {written}")]), (), True)
    assert not denies.authorize(context(host="::1"), Op.READ, TOPIC, "t")
    assert denies.authorize(context(host="::1"), Op.WRITE, TOPIC, "t") is False, "there are ACLs, and none allows it"
    allows = AclAuthorizer(AclIndex([acl(f"ALLOW User:* READ on t from {written}")]))
    assert allows.authorize(context(host="::1"), Op.READ, TOPIC, "t")
    assert allows.authorize(context(host="::2"), Op.READ, TOPIC, "t") == (written == "*")


ADMIN, BROKER = KafkaPrincipal("User", "admin"), KafkaPrincipal("User", "broker")
INSIDE = parse_networks(["10.0.0.0/8", "fd00::/8", "192.168.1.7"])


def hop(principal: KafkaPrincipal = BROKER) -> RequestContext:
    """A connection from 8.8.8.8."""
    return RequestContext("c", "REPLICATION", SecurityProtocol.SASL_SSL, "8.8.8.8", b"\x08" * 4, principal=principal)


@pytest.mark.spec("F8")
@pytest.mark.parametrize(
    ("address", "request_type", "rejected"),
    [
        ("10.1.2.3", ApiKey.CREATE_ACLS, False),
        ("fd00::1", ApiKey.DELETE_ACLS, False),
        ("192.168.1.7", ApiKey.CREATE_ACLS, False),
        ("192.168.1.8", ApiKey.CREATE_ACLS, True),
        ("8.8.8.8", ApiKey.DELETE_ACLS, True),
        ("::1", ApiKey.CREATE_ACLS, True),
        ("8.8.8.8", ApiKey.CREATE_TOPICS, False),
    ],
)
def test_where_the_client_is_and_what_it_asks(address: str, request_type: ApiKey, rejected: bool) -> None:
    forwarded = hop().forwarded(ADMIN, address, b"", request_type)
    assert is_rejected_forward(INSIDE, forwarded) == rejected
    assert not is_rejected_forward((), forwarded), "no network named: from anywhere"
    authorizer = AclAuthorizer(None, [ADMIN, BROKER], forwarded_acl_changes_from=INSIDE)
    may = authorizer.authorize(forwarded, AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    assert may == (not rejected), "a super user is no exception"


@pytest.mark.spec("F8")
def test_direct_connections_to_the_controller_are_not_affected() -> None:
    assert not is_rejected_forward(INSIDE, hop(ADMIN))


@pytest.mark.parametrize("text", ["", "10.0.0.0/33", "everywhere", "10.0.0.1/8/8"])
def test_what_is_no_network(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is no network"):
        parse_networks(["10.0.0.0/8", text])
