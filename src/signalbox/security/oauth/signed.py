"""Signed JWTs (RFC 7519, 7515) against an identity provider's keys: Kafka's OAuthBearerValidatorCallbackHandler.

PyJWT checks the signature, `claims.py` what the token says, as Kafka does. A token that names an unknown key is refused
at once, while the keys are looked at again: nobody waits. All this happens in the event loop for whoever sends it, so a
token is cut and decoded by C functions, and its payload is not looked at before its signature is known to be good.

What is logged about a refused token names claims and keys, not their values: those are the peer's secrets.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from signalbox.common.clock import Clock, SystemClock
from signalbox.common.limits import MAX_ACCESS_TOKEN_BYTES
from signalbox.security.oauth.access_token import AccessToken, TokenRefused
from signalbox.security.oauth.claims import TokenRules, check_rules, read_claims
from signalbox.security.oauth.key_set import KeySource, VerificationKey

_MAX_KEY_ID_CHARACTERS = 1_000  # as in Kafka: a longer one is not looked for
_PARTS = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")


class SignedTokenValidator:
    """One per listener and mechanism."""

    def __init__(self, keys: KeySource, rules: TokenRules, clock: Clock | None = None) -> None:
        self._keys = keys
        self._rules = rules
        self._clock = clock or SystemClock()

    def validate(self, token: str) -> AccessToken:
        if len(token) > MAX_ACCESS_TOKEN_BYTES:
            raise TokenRefused(f"the token has {len(token)} bytes, at most {MAX_ACCESS_TOKEN_BYTES} are read")
        parts = _PARTS.fullmatch(token)
        if parts is None:
            raise TokenRefused("the token has not three parts (header, payload, signature)")
        header = _object(parts[1], "header")
        if "crit" in header or header.get("b64", True) is not True:
            raise TokenRefused("the token's header asks for what is not known here (crit, b64)")
        algorithm = header.get("alg")
        if not isinstance(algorithm, str):
            raise TokenRefused("the token's header names no algorithm")
        signed, signature = token[: parts.end(2)].encode(), _decoded(parts[3], "signature")
        if not any(
            _signed_with(key, algorithm, signed, signature) for key in self._candidates(header.get("kid"), algorithm)
        ):
            raise TokenRefused("the signature is wrong")
        claims = _object(parts[2], "payload")
        check_rules(claims, self._rules, self._clock.now_ms())
        return read_claims(claims, self._rules.subject_claim, self._rules.scope_claim, self._rules.scopes)

    def refused_extensions(self, token: AccessToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def _candidates(self, key_id: object, algorithm: str) -> list[VerificationKey]:
        if key_id is not None and not (isinstance(key_id, str) and len(key_id) <= _MAX_KEY_ID_CHARACTERS):
            raise TokenRefused("the key id of the token's header is no text, or is too long")
        known = self._keys.keys
        found = known.candidates(key_id, algorithm)
        if found:
            return found
        if key_id is not None and not known.knows(key_id):
            self._keys.missing(key_id)
            raise TokenRefused("the token names a key that the JWKS endpoint has not published")
        raise TokenRefused("no published key is for the algorithm in the token's header")


def _signed_with(key: VerificationKey, algorithm: str, signed: bytes, signature: bytes) -> bool:
    import jwt  # lazily: only where tokens are verified

    try:
        return bool(jwt.get_algorithm_by_name(algorithm).verify(signed, key.public_key, signature))
    except (jwt.PyJWTError, ValueError, TypeError):  # a signature of another length, say
        return False


def _decoded(part: str, what: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise TokenRefused(f"the token's {what} cannot be read") from None


def _object(part: str, what: str) -> dict[str, Any]:
    try:
        found = json.loads(_decoded(part, what))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise TokenRefused(f"the token's {what} cannot be read")
    return found
