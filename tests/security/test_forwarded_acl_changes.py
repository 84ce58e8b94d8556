"""Forwarded ACL changes are accepted only from clients in the configured networks (SPEC F8)."""

from __future__ import annotations

import pytest

from signalbox.common.endpoint import SecurityProtocol
from signalbox.protocol.api_table import ApiKey
from signalbox.security.acl import CLUSTER_NAME, AclOperation, ResourceType
from signalbox.security.acl_authorizer import AclAuthorizer
from signalbox.security.forwarded_acl_changes import parse_networks, rejects
from signalbox.security.principal import KafkaPrincipal
from signalbox.security.request_context import RequestContext

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
    assert rejects(INSIDE, forwarded) == rejected
    assert not rejects((), forwarded), "no network named: from anywhere"
    authorizer = AclAuthorizer(None, [ADMIN, BROKER], forwarded_acl_changes_from=INSIDE)
    may = authorizer.authorize(forwarded, AclOperation.ALTER, ResourceType.CLUSTER, CLUSTER_NAME)
    assert may == (not rejected), "a super user is no exception"


@pytest.mark.spec("F8")
def test_direct_connections_to_the_controller_are_not_affected() -> None:
    assert not rejects(INSIDE, hop(ADMIN))


@pytest.mark.parametrize("text", ["", "10.0.0.0/33", "everywhere", "10.0.0.1/8/8"])
def test_what_is_no_network(text: str) -> None:
    with pytest.raises(ValueError, match=f"'{text}' is no network"):
        parse_networks(["10.0.0.0/8", text])
