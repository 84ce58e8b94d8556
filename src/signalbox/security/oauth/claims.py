"""The claims of a token whose signature is valid, by the rules of Kafka's broker-side validator (KIP-768).

| claim | rule |
|---|---|
| `exp`, `iat` | required numbers, not negative; `exp` ends the session, `iat` is not in the future (our rule) |
| `nbf` | a number, if present; clock skew applies to it, to `iat` and to `exp` |
| `aud` | without `...expected.audience` there must be none (RFC 7519, 4.1.3), with it one of them |
| `iss` | the expected issuer, if one is configured |
| subject (`sasl.oauthbearer.sub.claim.name`) | a text that is not blank; trimmed: the principal's name |
| scope (`sasl.oauthbearer.scope.claim.name`) | a text or a list of texts, none blank, no duplicates; may be absent |

Our addition: `signalbox.sasl.oauthbearer.expected.scope` requires scopes, and a text is split at spaces (RFC 6749,
3.3) for the comparison; Kafka's validator has no such key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from signalbox.security.oauth.access_token import INSUFFICIENT_SCOPE, AccessToken, TokenRejected

Claims = Mapping[str, Any]
_LAST_SECOND = 2**43  # in milliseconds still a number that every client can represent


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """The keys `sasl.oauthbearer.*`. An empty issuer or scope is not checked; an empty audience accepts no `aud`."""

    audience: tuple[str, ...] = ()
    issuer: str = ""
    scopes: frozenset[str] = frozenset()
    clock_skew_seconds: int = 30
    scope_claim: str = "scope"
    subject_claim: str = "sub"


def check_rules(claims: Claims, rules: TokenRules, now_ms: int) -> None:
    """Check expiry, audience and issuer of a token; TokenRejected."""
    skew_ms = rules.clock_skew_seconds * 1000
    if now_ms - skew_ms >= time_claim_ms(claims, "exp"):
        raise TokenRejected("the token has expired (exp)")
    if claims.get("nbf") is not None and now_ms + skew_ms < time_claim_ms(claims, "nbf"):
        raise TokenRejected("the token is not valid yet (nbf)")
    if now_ms + skew_ms < time_claim_ms(claims, "iat"):
        raise TokenRejected("the token was issued in the future (iat)")
    audiences = claims.get("aud") or []
    audience = [audiences] if isinstance(audiences, str) else audiences
    if not isinstance(audience, list) or not all(isinstance(item, str) for item in audience):
        raise TokenRejected("the aud claim is neither a text nor a list of texts")
    if set(audience).isdisjoint(rules.audience) and (audience or rules.audience):
        raise TokenRejected("the token is for another audience (sasl.oauthbearer.expected.audience)")
    if rules.issuer and claims.get("iss") != rules.issuer:
        raise TokenRejected("the token is of another issuer (sasl.oauthbearer.expected.issuer)")


def read_claims(claims: Claims, subject_claim: str, scope_claim: str, expected_scopes: frozenset[str]) -> AccessToken:
    """The accepted token; TokenRejected names the wrong claim, never its value."""
    expires_at_ms = time_claim_ms(claims, "exp")
    time_claim_ms(claims, "iat")
    name = _text(subject_claim, claims.get(subject_claim))
    scopes = _scopes(scope_claim, claims.get(scope_claim))
    missing = expected_scopes - scopes
    if missing:
        scope_text = " ".join(sorted(expected_scopes))
        raise TokenRejected(
            f"the {scope_claim} claim lacks {' '.join(sorted(missing))}", INSUFFICIENT_SCOPE, scope_text
        )
    return AccessToken(name, expires_at_ms, scopes)


def time_claim_ms(claims: Claims, name: str) -> int:
    """A claim in seconds since the epoch (whole or not) as milliseconds; TokenRejected."""
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRejected(f"the {name} claim is not a number")
    if not 0 <= value < _LAST_SECOND:  # infinity and NaN are out of range, too
        raise TokenRejected(f"the {name} claim is out of range")
    return int(value * 1000)


def _scopes(claim: str, value: object) -> frozenset[str]:
    if isinstance(value, str):
        return frozenset(_text(claim, value).split())
    if not isinstance(value, list):
        return frozenset()
    scopes = [_text(claim, scope) for scope in value]
    if len(set(scopes)) != len(scopes):
        raise TokenRejected(f"the {claim} claim has a value twice")
    return frozenset(scopes)


def _text(claim: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TokenRejected(f"the {claim} claim is not a text, or is blank")
    return value.strip()
