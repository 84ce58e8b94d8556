"""Create-, Renew- and ExpireDelegationToken (KIP-48, KIP-373), as transcripts with Kafka's errors and times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from signalbox.common.ids import uuid_bytes
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.entities.token_control import (
    TokenRequest,
    create_delegation_token,
    expire_delegation_token,
    expire_tokens,
    renew_delegation_token,
)
from signalbox.controller.records import TokenRemoved, TokenSet
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from signalbox.security.delegation_token import DelegationToken, TokenSecret
from signalbox.security.principal import KafkaPrincipal
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context

NOW, MAX, PERIOD = 1_000_000, 50_000, 1_000
ALICE, BOB, CAROL = (KafkaPrincipal("User", name) for name in ("alice", "bob", "carol"))
SECRET = TokenSecret("the secret")
T = DelegationToken("t", ALICE, CAROL, (BOB,), issue_ms=NOW - 10, expiry_ms=NOW + 100, max_ms=NOW + 5_000)
OVER = replace(T, token_id="over", expiry_ms=NOW - 1)
CONTEXT = make_context(1, tokens={"t": T, "over": OVER})


def given(secret: TokenSecret | None = SECRET, **settings: int) -> Inputs:
    times = {"delegation_token_max_lifetime_ms": MAX, "delegation_token_expiry_time_ms": PERIOD, **settings}
    return replace(inputs(secret, **times), now_ms=lambda: NOW)


def create(requester: KafkaPrincipal = ALICE, with_: Inputs | None = None, **fields: Any) -> tuple[Decision, Any]:
    renewers = [
        CreateDelegationTokenRequest.CreatableRenewers(principal_type=each.type, principal_name=each.name)
        for each in fields.pop("renewers", ())
    ]
    body = CreateDelegationTokenRequest(renewers=renewers, **{"max_lifetime_ms": -1, **fields})
    decision = create_delegation_token(CONTEXT, with_ or given(), TokenRequest(requester, body))
    return decision, decision.response


def renew(
    requester: KafkaPrincipal, period_ms: int = -1, hmac: bytes | None = None, **more: Any
) -> tuple[Decision, Any]:
    body = RenewDelegationTokenRequest(hmac=hmac or SECRET.hmac("t"), renew_period_ms=period_ms)
    decision = renew_delegation_token(CONTEXT, more.get("with_") or given(), TokenRequest(requester, body))
    return decision, decision.response


def expire(
    requester: KafkaPrincipal, period_ms: int = -1, hmac: bytes | None = None, **more: Any
) -> tuple[Decision, Any]:
    body = ExpireDelegationTokenRequest(hmac=hmac or SECRET.hmac("t"), expiry_time_period_ms=period_ms)
    decision = expire_delegation_token(CONTEXT, more.get("with_") or given(), TokenRequest(requester, body))
    return decision, decision.response


def test_a_token_of_ones_own() -> None:
    decision, response = create(renewers=[BOB])
    [record] = decision.records
    assert isinstance(record, TokenSet)
    token = record.token
    assert (token.owner, token.requester, token.renewers) == (ALICE, ALICE, (BOB,))
    assert (token.issue_ms, token.expiry_ms, token.max_ms) == (NOW, NOW + PERIOD, NOW + MAX)
    assert len(uuid_bytes(token.token_id)) == 16
    assert (response.error_code, response.token_id, response.hmac) == (0, token.token_id, b""), (
        "the handler adds the HMAC"
    )
    assert (response.issue_timestamp_ms, response.expiry_timestamp_ms, response.max_timestamp_ms) == (
        NOW,
        NOW + PERIOD,
        NOW + MAX,
    )
    assert (response.principal_type, response.principal_name) == ("User", "alice")
    assert (response.token_requester_principal_type, response.token_requester_principal_name) == ("User", "alice")


def test_a_token_for_another() -> None:
    decision, response = create(CAROL, owner_principal_type="User", owner_principal_name="alice")
    [record] = decision.records
    assert isinstance(record, TokenSet)
    assert (record.token.owner, record.token.requester) == (ALICE, CAROL)
    assert (response.principal_name, response.token_requester_principal_name) == ("alice", "carol")
    _, response = create(CAROL, owner_principal_type="User", owner_principal_name="")
    assert response.principal_name == "carol", "an empty name is none"


@pytest.mark.parametrize(
    ("asked_ms", "max_ms", "expiry_ms"),
    [(-1, MAX, PERIOD), (0, MAX, PERIOD), (MAX + 1, MAX, PERIOD), (2_000, 2_000, PERIOD), (300, 300, 300)],
)
def test_how_long_it_may_live(asked_ms: int, max_ms: int, expiry_ms: int) -> None:
    _, response = create(max_lifetime_ms=asked_ms)
    assert (response.max_timestamp_ms - NOW, response.expiry_timestamp_ms - NOW) == (max_ms, expiry_ms)


def test_a_configured_never_fits_the_wire() -> None:
    never = given(delegation_token_max_lifetime_ms=2**63 - 1, delegation_token_expiry_time_ms=2**63 - 1)
    _, response = create(with_=never)
    assert response.max_timestamp_ms == response.expiry_timestamp_ms == 2**63 - 1
    assert response.encode(3)


@pytest.mark.parametrize(
    "fields",
    [
        {"renewers": [BOB, KafkaPrincipal("Group", "bob")]},
        {"owner_principal_type": "Group", "owner_principal_name": "g"},
        {"owner_principal_type": None, "owner_principal_name": "g"},
    ],
)
def test_only_users_own_and_renew(fields: dict[str, Any]) -> None:
    decision, response = create(**fields)
    assert (decision.records, response.error_code) == ((), Error.INVALID_PRINCIPAL_TYPE)
    assert (response.issue_timestamp_ms, response.expiry_timestamp_ms, response.max_timestamp_ms) == (-1, -1, -1)


def test_without_a_secret_there_are_none() -> None:
    off = given(None)
    for decision, response in (create(with_=off), renew(ALICE, with_=off), expire(ALICE, with_=off)):
        assert (decision.records, response.error_code) == ((), Error.DELEGATION_TOKEN_AUTH_DISABLED)


@pytest.mark.parametrize("requester", [ALICE, BOB])
@pytest.mark.parametrize(("period_ms", "left_ms"), [(-1, PERIOD), (0, 0), (4_000, 4_000), (2**63 - 1, 5_000)])
def test_owner_and_renewer_renew(requester: KafkaPrincipal, period_ms: int, left_ms: int) -> None:
    decision, response = renew(requester, period_ms)
    assert decision.records == (TokenSet(replace(T, expiry_ms=NOW + left_ms)),)
    assert (response.error_code, response.expiry_timestamp_ms) == (0, NOW + left_ms)


@pytest.mark.parametrize("requester", [ALICE, BOB])
@pytest.mark.parametrize(("period_ms", "left_ms"), [(0, 0), (50, 50), (2**63 - 1, 5_000)])
def test_owner_and_renewer_give_it_another_end(requester: KafkaPrincipal, period_ms: int, left_ms: int) -> None:
    decision, response = expire(requester, period_ms)
    assert decision.records == (TokenSet(replace(T, expiry_ms=NOW + left_ms)),)
    assert (response.error_code, response.expiry_timestamp_ms) == (0, NOW + left_ms)


def test_or_end_it_at_once() -> None:
    for token_id in ("t", "over"):
        decision, response = expire(BOB, -1, SECRET.hmac(token_id))
        assert decision.records == (TokenRemoved(token_id),)
        assert (response.error_code, response.expiry_timestamp_ms) == (0, NOW)


@pytest.mark.parametrize(
    ("requester", "token_id", "period_ms", "error"),
    [
        (ALICE, "unknown", 5, Error.DELEGATION_TOKEN_NOT_FOUND),
        (CAROL, "t", 5, Error.DELEGATION_TOKEN_OWNER_MISMATCH),
        (CAROL, "over", 5, Error.DELEGATION_TOKEN_OWNER_MISMATCH),
        (CAROL, "t", -1, Error.DELEGATION_TOKEN_OWNER_MISMATCH),
        (ALICE, "over", 5, Error.DELEGATION_TOKEN_EXPIRED),
    ],
)
def test_other_users_get_an_error(requester: KafkaPrincipal, token_id: str, period_ms: int, error: Error) -> None:
    for change in (renew, expire):
        decision, response = change(requester, period_ms, SECRET.hmac(token_id))
        assert (decision.records, response.error_code, response.expiry_timestamp_ms) == ((), error, -1)


@pytest.mark.parametrize("hmac", [b"?", TokenSecret("another").hmac("t")])
def test_an_hmac_of_another_secret_is_none(hmac: bytes) -> None:
    for change in (renew, expire):
        decision, response = change(ALICE, 5, hmac)
        assert (decision.records, response.error_code) == ((), Error.DELEGATION_TOKEN_NOT_FOUND)


def test_those_whose_time_is_over_are_removed() -> None:
    assert expire_tokens(CONTEXT, given()) == Decision((TokenRemoved("over"),))
