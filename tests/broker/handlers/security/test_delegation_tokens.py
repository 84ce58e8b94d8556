"""Delegation tokens at a real controller: allowed connections, owners and renewers, and the tokens in the response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.broker.handlers.security.delegation_tokens import ChangeTokenHandler, DescribeDelegationTokenHandler
from signalbox.common.endpoint import SecurityProtocol
from signalbox.metadata.token_repository import TokenRepository
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    ResourcePattern,
    ResourceType,
)
from signalbox.security.acl_authorizer import AclAuthorizer
from signalbox.security.acl_view import AclIndex
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.principal import ANONYMOUS, KafkaPrincipal
from signalbox.security.request_context import RequestContext
from signalbox.testing.cluster import Cluster
from tests.broker.handler_requests import ALLOW_ALL, request_of
from tests.broker.handlers.running_broker import RunningBroker
from tests.common.scheduling.schedulers import ImmediateScheduler

pytestmark = pytest.mark.spec("F2")

SECRET = TokenSecret("the secret")
NO_ACLS = AclAuthorizer(AclIndex([]))
CREATE = ApiKey.CREATE_DELEGATION_TOKEN


@pytest.fixture(scope="module")
def running_broker() -> Iterator[RunningBroker]:
    with Cluster(brokers=1, overrides={"delegation.token.secret.key": "the secret"}) as cluster:
        yield RunningBroker(cluster)


def repository_of(running_broker: RunningBroker) -> TokenRepository | None:
    tokens = running_broker.components.context.tokens
    return None if tokens is None else tokens.repository


def by(
    user: str, protocol: SecurityProtocol = SecurityProtocol.SASL_PLAINTEXT, *, by_token: bool = False
) -> RequestContext:
    """A connection on which `user` has logged in."""
    principal = KafkaPrincipal("User", user, by_token)
    return RequestContext("c-1", "CLIENT", protocol, "10.0.0.7", b"\x0a\0\0\x07", principal=principal)


def allowed(user: str, operation: AclOperation, kind: ResourceType, name: str) -> AclAuthorizer:
    entry = AccessControlEntry(f"User:{user}", "*", operation, AclPermission.ALLOW)
    return AclAuthorizer(AclIndex([AclBinding(ResourcePattern(kind, name), entry)]))


def change(
    running_broker: RunningBroker,
    body: Any,
    who: RequestContext,
    version: int,
    authorizer: Any = NO_ACLS,
    forwarded_by: str | None = None,
) -> Any:
    request = request_of(body, version, who)
    request.forwarded_by = forwarded_by
    handler = ChangeTokenHandler(ApiKey(body.api_key), running_broker.components.controller, authorizer, SECRET)
    return running_broker.answer(handler, request)


def creation(owner: str = "", renewers: tuple[str, ...] = (), kind: str = "User") -> Any:
    made = CreateDelegationTokenRequest
    return made(
        owner_principal_type="User" if owner else "",
        owner_principal_name=owner,
        renewers=[made.CreatableRenewers(principal_type=kind, principal_name=name) for name in renewers],
        max_lifetime_ms=-1,
    )


def create(running_broker: RunningBroker, who: RequestContext, body: Any = None, version: int = 3, **more: Any) -> Any:
    return change(running_broker, body or creation(), who, version, **more)


def describe(
    running_broker: RunningBroker, who: RequestContext, *owners: str, authorizer: Any = NO_ACLS, version: int = 3
) -> Any:
    made = DescribeDelegationTokenRequest
    named = [made.DescribeDelegationTokenOwner(principal_type="User", principal_name=name) for name in owners]
    handler = DescribeDelegationTokenHandler(repository_of(running_broker), authorizer, SECRET, ImmediateScheduler())
    return running_broker.answer(handler, request_of(made(owners=named or None), version, who))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_create_describe_renew_and_expire(running_broker: RunningBroker, version: int) -> None:
    user = f"alice-{version}"
    made = create(running_broker, by(user), creation(renewers=("bob",)), version)
    assert (made.error_code, made.principal_type, made.principal_name) == (0, "User", user)
    assert made.hmac == SECRET.hmac(made.token_id)
    assert made.expiry_timestamp_ms - made.issue_timestamp_ms == 86_400_000
    assert made.max_timestamp_ms - made.issue_timestamp_ms == 604_800_000
    [token] = describe(running_broker, by(user), version=version).tokens
    assert (token.token_id, token.hmac, token.principal_name) == (made.token_id, made.hmac, user)
    assert (token.issue_timestamp, token.expiry_timestamp, token.max_timestamp) == (
        made.issue_timestamp_ms,
        made.expiry_timestamp_ms,
        made.max_timestamp_ms,
    )
    assert [(each.principal_type, each.principal_name) for each in token.renewers] == [("User", "bob")]
    assert token.token_requester_principal_name == (user if version >= 3 else "")
    older = min(version, 2)
    renewed = change(
        running_broker, RenewDelegationTokenRequest(hmac=made.hmac, renew_period_ms=10**15), by("bob"), older
    )
    assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, made.max_timestamp_ms)
    ended = change(
        running_broker, ExpireDelegationTokenRequest(hmac=made.hmac, expiry_time_period_ms=-1), by(user), older
    )
    assert ended.error_code == 0
    assert describe(running_broker, by(user), version=version).tokens == []
    again = change(
        running_broker, ExpireDelegationTokenRequest(hmac=made.hmac, expiry_time_period_ms=-1), by(user), older
    )
    assert (again.error_code, again.expiry_timestamp_ms) == (Error.DELEGATION_TOKEN_NOT_FOUND, -1)


@pytest.mark.parametrize(
    "who",
    [
        by("alice", SecurityProtocol.PLAINTEXT),
        by(ANONYMOUS.name, SecurityProtocol.SSL),
        by("alice", SecurityProtocol.SASL_SSL, by_token=True),
    ],
    ids=["PLAINTEXT", "anonymous", "by a token"],
)
def test_connections_on_which_delegation_tokens_are_not_allowed(
    running_broker: RunningBroker, who: RequestContext
) -> None:
    for body, version in (
        (creation(), 3),
        (RenewDelegationTokenRequest(hmac=b"h"), 2),
        (ExpireDelegationTokenRequest(hmac=b"h"), 2),
    ):
        described = change(running_broker, body, who, version, ALLOW_ALL)
        assert described.error_code == Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        assert described.expiry_timestamp_ms == -1
    described = describe(running_broker, who, authorizer=ALLOW_ALL)
    assert (described.error_code, described.tokens) == (Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, [])


def test_a_client_certificate_is_an_authenticated_principal(running_broker: RunningBroker) -> None:
    assert create(running_broker, by("CN=alice", SecurityProtocol.SSL)).error_code == 0


def test_a_forwarded_request_is_authorized_by_its_principal_and_not_by_the_brokers_connection(
    running_broker: RunningBroker,
) -> None:
    hop = by("alice", SecurityProtocol.PLAINTEXT)
    assert create(running_broker, hop, forwarded_by="User:broker").error_code == 0
    by_token = by("alice", SecurityProtocol.PLAINTEXT, by_token=True)
    rejected = create(running_broker, by_token, forwarded_by="User:broker")
    assert rejected.error_code == Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_a_token_for_another_needs_create_tokens(running_broker: RunningBroker) -> None:
    rejected = create(running_broker, by("carol"), creation("dora"))
    assert rejected.error_code == Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (rejected.principal_name, rejected.token_requester_principal_name, rejected.hmac) == ("dora", "carol", b"")
    may = allowed("carol", AclOperation.CREATE_TOKENS, ResourceType.USER, "User:dora")
    made = create(running_broker, by("carol"), creation("dora"), authorizer=may)
    assert (made.error_code, made.principal_name, made.token_requester_principal_name) == (0, "dora", "carol")
    assert create(running_broker, by("carol"), creation("alice"), authorizer=may).error_code != 0
    assert create(running_broker, by("carol"), creation("carol")).error_code == 0, "one's own needs no right"


def test_renewers_are_users(running_broker: RunningBroker) -> None:
    assert (
        create(running_broker, by("a"), creation(renewers=("b",), kind="Group")).error_code
        == Error.INVALID_PRINCIPAL_TYPE
    )


def test_which_tokens_a_principal_sees(running_broker: RunningBroker) -> None:
    made = create(running_broker, by("erin"), creation(renewers=("finn",)))
    other = create(running_broker, by("gil"))
    for who in ("erin", "finn"):
        assert [each.token_id for each in describe(running_broker, by(who)).tokens] == [made.token_id]
    assert describe(running_broker, by("hugo")).tokens == []
    for may in (
        allowed("hugo", AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, made.token_id),
        allowed("hugo", AclOperation.DESCRIBE_TOKENS, ResourceType.USER, "User:erin"),
    ):
        assert [each.token_id for each in describe(running_broker, by("hugo"), authorizer=may).tokens] == [
            made.token_id
        ]
    described = describe(running_broker, by("hugo"), "gil", "finn", authorizer=ALLOW_ALL)
    assert {each.token_id for each in described.tokens} == {made.token_id, other.token_id}, "owners, and who may renew"
    assert describe(running_broker, by("erin"), "gil").tokens == []


def test_an_empty_list_of_owners_returns_no_tokens(running_broker: RunningBroker) -> None:
    create(running_broker, by("ivy"))
    handler = DescribeDelegationTokenHandler(repository_of(running_broker), ALLOW_ALL, SECRET, ImmediateScheduler())
    none = running_broker.answer(handler, request_of(DescribeDelegationTokenRequest(owners=[]), 3, by("ivy")))
    assert (none.error_code, none.tokens) == (0, [])


def test_without_a_secret_there_are_none() -> None:
    handler = DescribeDelegationTokenHandler(None, ALLOW_ALL, None, ImmediateScheduler())
    described: Any = handler(request_of(DescribeDelegationTokenRequest(owners=None), 3, by("alice")))
    assert described.error_code == Error.DELEGATION_TOKEN_AUTH_DISABLED


def test_the_broker_that_the_client_is_connected_to_rejects(running_broker: RunningBroker) -> None:
    def rejected(body: Any, who: RequestContext) -> Any:
        handler = ChangeTokenHandler(ApiKey(body.api_key), running_broker.components.controller, NO_ACLS, None)
        return handler.rejected(request_of(body, 2 if body.api_key != CREATE else 3, who))

    assert rejected(creation(), by("alice")) == {}, "all of it is the controller's"
    assert rejected(RenewDelegationTokenRequest(hmac=b"h"), by("alice")) == {}
    for body, who, error in (
        (creation("bob"), by("alice"), Error.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
        (creation(), by("alice", SecurityProtocol.PLAINTEXT), Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        (creation(renewers=("g",), kind="Group"), by("alice"), Error.INVALID_PRINCIPAL_TYPE),
        (
            ExpireDelegationTokenRequest(hmac=b"h"),
            by("alice", by_token=True),
            Error.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        ),
    ):
        assert rejected(body, who).error_code == error
