"""Signed JWTs (RFC 7519, 7515) against an identity provider's keys: Kafka's OAuthBearerValidatorCallbackHandler.

PyJWT checks signature, `exp`, `nbf`, `aud` and `iss`; `claims.py` the rest. As in Kafka: without an expected audience a
token that has one is refused (RFC 7519, 4.1.3), with one it must have it; clock skew counts for `exp` and `nbf`. A
token that names an unknown key is refused at once, while the keys are looked at again: nobody waits.

What is logged about a refused token names claims and keys, not their values: those are the peer's secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.limits import MAX_ACCESS_TOKEN_BYTES
from signalbox.security.oauth.access_token import AccessToken, TokenRefused
from signalbox.security.oauth.claims import read_claims
from signalbox.security.oauth.key_set import KeySource, VerificationKey

_MAX_KEY_ID_CHARACTERS = 1_000  # as in Kafka: a longer one is not looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """The keys `sasl.oauthbearer.*`; an empty audience, issuer or scope is not looked at."""

    audience: tuple[str, ...] = ()
    issuer: str = ""
    scopes: frozenset[str] = frozenset()
    clock_skew_seconds: int = 30
    scope_claim: str = "scope"
    subject_claim: str = "sub"


class SignedTokenValidator:
    """One per listener and mechanism."""

    def __init__(self, keys: KeySource, rules: TokenRules) -> None:
        self._keys = keys
        self._rules = rules

    def validate(self, token: str) -> AccessToken:
        import jwt  # lazily: only where tokens are verified

        if len(token) > MAX_ACCESS_TOKEN_BYTES:
            raise TokenRefused(f"the token has {len(token)} bytes, at most {MAX_ACCESS_TOKEN_BYTES} are read")
        if token.count(".") != 2 or not all(token.split(".")):
            raise TokenRefused("the token has not three parts (header, payload, signature)")
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, RecursionError):
            raise TokenRefused("the token's header cannot be read") from None
        candidates = self._candidates(header.get("kid"), header.get("alg"))
        refused = TokenRefused("no key fits")
        for key in candidates:
            try:
                return self._validate_with(key, token)
            except jwt.InvalidSignatureError:
                refused = TokenRefused("the signature is wrong")
        raise refused

    def refused_extensions(self, token: AccessToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def _candidates(self, key_id: str | None, algorithm: object) -> list[VerificationKey]:
        if key_id is not None and len(key_id) > _MAX_KEY_ID_CHARACTERS:
            raise TokenRefused("the key id of the token's header is too long")
        known = self._keys.keys
        found = known.candidates(key_id, str(algorithm))
        if found:
            return found
        if key_id is not None and not known.knows(key_id):
            self._keys.missing(key_id)
            raise TokenRefused("the token names a key that the JWKS endpoint has not published")
        raise TokenRefused("no published key is for the algorithm in the token's header")

    def _validate_with(self, key: VerificationKey, token: str) -> AccessToken:
        import jwt

        rules = self._rules
        try:
            claims = jwt.decode(
                token,
                key.public_key,
                algorithms=list(key.algorithms),
                audience=list(rules.audience) or None,
                issuer=rules.issuer or None,
                leeway=rules.clock_skew_seconds,
                # A text where a number belongs is refused by read_claims; Kafka does not hold iat against the clock.
                options={"require": ["exp", "iat"], "verify_iat": False, "verify_sub": False, "verify_jti": False},
            )
        except jwt.InvalidSignatureError:
            raise
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError) as error:
            raise TokenRefused(_WORDS.get(type(error).__name__, "the token cannot be read")) from None
        return read_claims(claims, rules.subject_claim, rules.scope_claim, rules.scopes)


_WORDS = {
    "ExpiredSignatureError": "the token has expired (exp)",
    "ImmatureSignatureError": "the token is not valid yet (nbf)",
    "InvalidAudienceError": "the token is for another audience (sasl.oauthbearer.expected.audience)",
    "InvalidIssuerError": "the token is of another issuer (sasl.oauthbearer.expected.issuer)",
    "MissingRequiredClaimError": "the token lacks exp, iat, or the claim that an expected audience or issuer asks for",
    "InvalidAlgorithmError": "the algorithm in the token's header is not the key's",
}
