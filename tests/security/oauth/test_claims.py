"""The rules of Kafka's broker-side validator, claim by claim."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.security.oauth.access_token import AccessToken, TokenRejected
from signalbox.security.oauth.claims import TokenRules, check_rules, read_claims

GOOD: dict[str, Any] = {"sub": " alice ", "iat": 1, "exp": 2.5}


def read(claims: dict[str, Any], scopes: frozenset[str] = frozenset()) -> AccessToken:
    return read_claims(claims, "sub", "scope", scopes)


def test_the_claims_of_a_token() -> None:
    assert read(GOOD) == AccessToken("alice", 2500)
    assert read(GOOD | {"scope": " read write "}).scopes == {"read", "write"}
    assert read(GOOD | {"scope": ["read", " write"]}).scopes == {"read", "write"}
    assert read(GOOD | {"scope": 7}).scopes == frozenset()
    assert read_claims(GOOD | {"email": "a@b"}, "email", "scope", frozenset()).principal_name == "a@b"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"exp": None}, "exp"),
        ({"exp": "2"}, "exp"),
        ({"exp": True}, "exp"),
        ({"exp": float("nan")}, "exp"),
        ({"exp": float("inf")}, "exp"),
        ({"exp": 10**400}, "exp"),
        ({"exp": -1}, "exp"),
        ({"iat": "now"}, "iat"),
        ({"iat": -5}, "iat"),
        ({"sub": None}, "sub"),
        ({"sub": " \t"}, "sub"),
        ({"sub": ["alice"]}, "sub"),
        ({"scope": ""}, "scope"),
        ({"scope": ["read", " "]}, "scope"),
        ({"scope": ["read", 7]}, "scope"),
        ({"scope": ["read", "read "]}, "scope"),
    ],
)
def test_what_is_rejected(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(TokenRejected, match=f"the {named} claim") as caught:
        read(GOOD | wrong)
    assert caught.value.status == "invalid_token"


def test_expected_scopes() -> None:
    wanted = frozenset({"read", "write"})
    assert read(GOOD | {"scope": "write read admin"}, wanted).scopes >= wanted
    with pytest.raises(TokenRejected, match="lacks write") as caught:
        read(GOOD | {"scope": ["read"]}, wanted)
    assert (caught.value.status, caught.value.scope) == ("insufficient_scope", "read write")


@pytest.mark.parametrize(("issued_s", "good"), [(100, True), (130, True), (130.5, False), (10_000, False)])
def test_a_token_that_was_issued_in_the_future(issued_s: float, good: bool) -> None:
    claims = {"sub": "alice", "iat": issued_s, "exp": 20_000}
    if good:
        check_rules(claims, TokenRules(), now_ms=100_000)
        return
    with pytest.raises(TokenRejected, match="issued in the future"):
        check_rules(claims, TokenRules(), now_ms=100_000)
