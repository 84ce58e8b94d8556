from __future__ import annotations

from typing import Any

import pytest

from signalbox.common.clock import ManualClock
from signalbox.security.oauth.access_token import AccessToken, TokenRejected
from signalbox.security.oauth.unsecured import UnsecuredOptionError, UnsecuredTokenValidator
from tests.security.issuer import Issuer, forged

CLOCK = ManualClock()
NOW = CLOCK.now_ms() // 1000


def validate(token: str, **options: str) -> AccessToken:
    named = {f"unsecuredValidator{name}": value for name, value in options.items()}
    return UnsecuredTokenValidator(named, CLOCK).validate(token)


def unsecured(**claims: Any) -> str:
    return forged({"alg": "none"}, {"sub": "alice", "iat": NOW, "exp": NOW + 60} | claims)


def test_what_kafka_takes() -> None:
    assert validate(unsecured()) == AccessToken("alice", (NOW + 60) * 1000)
    assert validate(unsecured(iat=NOW + 5), AllowableClockSkewMs="5000")
    assert validate(unsecured(iat=NOW - 9, exp=NOW - 5), AllowableClockSkewMs="6000")
    accepted = validate(unsecured(who="bob", may=["a", "b"]), PrincipalClaimName="who", ScopeClaimName="may")
    assert accepted == AccessToken("bob", (NOW + 60) * 1000, frozenset("ab"))
    no_iat = forged({"alg": "none"}, {"sub": "alice", "exp": NOW + 60})
    assert validate(no_iat).principal_name == "alice"


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (unsecured(exp=NOW), "has expired"),
        (unsecured(iat=NOW + 5), "not valid yet"),
        (unsecured(iat="x"), "iat"),
        (unsecured(sub=7), "sub"),
        (forged({"alg": "RS256"}, {"sub": "alice"}), "unsecured"),
        (forged({"alg": "none"}, {"sub": "alice"}, b"x"), "unsecured"),
        (Issuer().token(), "unsecured"),
        ("x", "unsecured"),
        ("a.b.", "cannot be read"),
        ("." * 20_000, "unsecured"),
    ],
)
def test_what_kafka_rejects(token: str, reason: str) -> None:
    with pytest.raises(TokenRejected, match=reason):
        validate(token)


def test_expected_scopes() -> None:
    with pytest.raises(TokenRejected) as caught:
        validate(unsecured(scope="read"), RequiredScope="read write")
    assert caught.value.as_json() == '{"status":"insufficient_scope", "scope":"read write"}'


@pytest.mark.parametrize("skew", ["x", "-1", "1.5", "²"])
def test_an_option_that_is_no_number(skew: str) -> None:
    with pytest.raises(UnsecuredOptionError, match="AllowableClockSkewMs"):
        validate(unsecured(), AllowableClockSkewMs=skew)
