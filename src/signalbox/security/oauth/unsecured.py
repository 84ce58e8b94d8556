"""Tokens without a signature (`alg: none`), as Kafka's OAuthBearerUnsecuredValidatorCallbackHandler accepts them.

For tests only: a client that can connect to the listener can log in as any user. In Kafka this is the default when
nothing is configured; here it must be named as the mechanism's `sasl.server.callback.handler.class`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from signalbox.common.clock import Clock, SystemClock
from signalbox.common.limits import MAX_ACCESS_TOKEN_BYTES
from signalbox.security.oauth.access_token import AccessToken, TokenRejected
from signalbox.security.oauth.claims import read_claims, time_claim_ms

_PREFIX = "unsecuredValidator"


class UnsecuredOptionError(ValueError):
    """An option of the login module is invalid; the message names it."""


class UnsecuredTokenValidator:
    """`options` are the login module's: `unsecuredValidatorPrincipalClaimName`, `...ScopeClaimName`,
    `...RequiredScope` (space-delimited), `...AllowableClockSkewMs`."""

    def __init__(self, options: Mapping[str, str], clock: Clock | None = None) -> None:
        def option(name: str) -> str:
            return options.get(_PREFIX + name, "").strip()

        self._subject_claim = option("PrincipalClaimName") or "sub"
        self._scope_claim = option("ScopeClaimName") or "scope"
        self._scopes = frozenset(option("RequiredScope").split())
        skew = option("AllowableClockSkewMs") or "0"
        if not (skew.isascii() and skew.isdigit()):
            raise UnsecuredOptionError(f"{_PREFIX}AllowableClockSkewMs is not a number of milliseconds: {skew!r}")
        self._skew_ms = int(skew)
        self._clock = clock or SystemClock()

    def validate(self, token: str) -> AccessToken:
        claims = _claims(token)
        now_ms = self._clock.now_ms()
        issued_at_ms = time_claim_ms(claims, "iat") if "iat" in claims else 0
        expires_at_ms = time_claim_ms(claims, "exp")
        if issued_at_ms > now_ms + self._skew_ms:
            raise TokenRejected("the token is not valid yet (iat)")
        if now_ms - self._skew_ms >= expires_at_ms:
            raise TokenRejected("the token has expired (exp)")
        if issued_at_ms > expires_at_ms:
            raise TokenRejected("the token expired before it was issued")
        return read_claims({"iat": 0, **claims}, self._subject_claim, self._scope_claim, self._scopes)

    def rejected_extensions(self, token: AccessToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        return {}


def _claims(token: str) -> Mapping[str, Any]:
    header, first, rest = token.partition(".")
    payload, second, signature = rest.partition(".")
    if len(token) > MAX_ACCESS_TOKEN_BYTES or not (first and second) or signature:
        raise TokenRejected("the token is not an unsecured one: header, payload and no signature")
    if _part(header).get("alg") != "none":
        raise TokenRejected("the token's header does not declare an unsecured token")
    return _part(payload)


def _part(text: str) -> Mapping[str, Any]:
    try:
        part = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        part = None
    if not isinstance(part, dict):
        raise TokenRejected("a part of the token cannot be read")
    return part
