"""Delegation tokens as values, and HMACs as Kafka makes them."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from signalbox.security.delegation_token import DelegationToken, TokenSecret, parse_principal
from signalbox.security.principal import KafkaPrincipal

ALICE, BOB, CAROL = (KafkaPrincipal("User", name) for name in ("alice", "bob", "carol"))


def token(**changes: int) -> DelegationToken:
    times = {"issue_ms": 0, "expiry_ms": 100, "max_ms": 200, **changes}
    return DelegationToken("id", ALICE, CAROL, (BOB,), **times)


def test_the_hmac_is_sha_512_of_the_id() -> None:
    secret = TokenSecret("the secret")
    made = hmac.new(b"the secret", b"gKZT5e2PS5ug1JMyXfrD_Q", hashlib.sha512).digest()
    assert secret.hmac("gKZT5e2PS5ug1JMyXfrD_Q") == made == secret.hmac("gKZT5e2PS5ug1JMyXfrD_Q")
    assert len(base64.b64encode(made)) == 88
    assert TokenSecret("another").hmac("gKZT5e2PS5ug1JMyXfrD_Q") != made


def test_a_secret_shows_nowhere() -> None:
    assert "the secret" not in repr(TokenSecret("the secret"))


def test_a_token_belongs_to_its_owner_and_its_renewers() -> None:
    assert token().is_of(ALICE)
    assert token().is_of(BOB)
    assert not token().is_of(CAROL), "who asked for it for another has no say in it"
    assert not token().is_of(KafkaPrincipal("Group", "alice"))


@pytest.mark.parametrize(("now_ms", "over"), [(99, False), (100, False), (101, True), (201, True)])
def test_its_time_is_over_with_the_earlier_of_its_ends(now_ms: int, over: bool) -> None:
    assert token().has_expired(now_ms) == over
    assert token(expiry_ms=300, max_ms=100).has_expired(now_ms) == over


def test_principals_are_read() -> None:
    assert parse_principal("User:CN=a:b") == KafkaPrincipal("User", "CN=a:b")
    for text in ("alice", ":alice", ""):
        with pytest.raises(ValueError, match="Type:name"):
            parse_principal(text)
