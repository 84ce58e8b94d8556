"""Signed JWTs (RFC 7519, 7515), verified by an identity provider's keys: Kafka's OAuthBearerValidatorCallbackHandler.

PyJWT checks the signature, `claims.py` the claims, as Kafka does. A token that names an unknown key is rejected at
once, and the keys are read again: no request waits for them. All this runs in the event loop for unauthenticated
clients, so a token is split and decoded by C functions, and its payload is not decoded before its signature is
verified.

Log lines about a rejected token name claims and keys, not their values: those are the peer's secrets.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from signalbox.common.clock import Clock, SystemClock
from signalbox.common.limits import MAX_ACCESS_TOKEN_BYTES
from signalbox.security.oauth.access_token import AccessToken, TokenRejected
from signalbox.security.oauth.claims import TokenRules, check_rules, read_claims
from signalbox.security.oauth.key_set import KeySource, VerificationKey

_MAX_KEY_ID_CHARACTERS = 1_000  # as in Kafka: a longer key id is not looked up
_PARTS = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")


class SignedTokenValidator:
    """One per listener and mechanism."""

    def __init__(self, keys: KeySource, rules: TokenRules, clock: Clock | None = None) -> None:
        self._keys = keys
        self._rules = rules
        self._clock = clock or SystemClock()

    def validate(self, token: str) -> AccessToken:
        if len(token) > MAX_ACCESS_TOKEN_BYTES:
            raise TokenRejected(f"the token has {len(token)} bytes, at most {MAX_ACCESS_TOKEN_BYTES} are read")
        parts = _PARTS.fullmatch(token)
        if parts is None:
            raise TokenRejected("the token has not three parts (header, payload, signature)")
        header = _object(parts[1], "header")
        if "crit" in header or header.get("b64", True) is not True:
            raise TokenRejected("the token's header has unsupported parameters (crit, b64)")
        algorithm = header.get("alg")
        if not isinstance(algorithm, str):
            raise TokenRejected("the token's header names no algorithm")
        signed, signature = token[: parts.end(2)].encode(), _decoded(parts[3], "signature")
        if not any(
            _signed_with(key, algorithm, signed, signature) for key in self._candidates(header.get("kid"), algorithm)
        ):
            raise TokenRejected("the signature is wrong")
        claims = _object(parts[2], "payload")
        check_rules(claims, self._rules, self._clock.now_ms())
        return read_claims(claims, self._rules.subject_claim, self._rules.scope_claim, self._rules.scopes)

    def rejected_extensions(self, token: AccessToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def _candidates(self, key_id: object, algorithm: str) -> list[VerificationKey]:
        if key_id is not None and not (isinstance(key_id, str) and len(key_id) <= _MAX_KEY_ID_CHARACTERS):
            raise TokenRejected("the key id of the token's header is no text, or is too long")
        key_set = self._keys.keys
        candidates = key_set.candidates(key_id, algorithm)
        if candidates:
            return candidates
        if key_id is not None and not key_set.knows(key_id):
            self._keys.missing(key_id)
            raise TokenRejected("the token names a key that the JWKS endpoint has not published")
        raise TokenRejected("no published key is for the algorithm in the token's header")


def _signed_with(key: VerificationKey, algorithm: str, signed: bytes, signature: bytes) -> bool:
    import jwt  # lazily: only where tokens are verified

    try:
        return bool(jwt.get_algorithm_by_name(algorithm).verify(signed, key.public_key, signature))
    except (jwt.PyJWTError, ValueError, TypeError):  # a signature of another length, for example
        return False


def _decoded(part: str, part_name: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise TokenRejected(f"the token's {part_name} cannot be read") from None


def _object(part: str, part_name: str) -> dict[str, Any]:
    try:
        value = json.loads(_decoded(part, part_name))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise TokenRejected(f"the token's {part_name} cannot be read")
    return value
