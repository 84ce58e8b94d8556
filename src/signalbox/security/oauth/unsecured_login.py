"""A token without a signature, made from the login module's options, as Kafka's
OAuthBearerUnsecuredLoginCallbackHandler does. For tests, with listeners that accept such tokens (`unsecured.py`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from signalbox.common.clock import Clock, SystemClock
from signalbox.security.oauth.login_token import LoginToken
from signalbox.security.oauth.unsecured import UnsecuredOptionError

_STRING, _NUMBER, _LIST = "unsecuredLoginStringClaim_", "unsecuredLoginNumberClaim_", "unsecuredLoginListClaim_"
_PRINCIPAL, _LIFETIME = "unsecuredLoginPrincipalClaimName", "unsecuredLoginLifetimeSeconds"
_DEFAULT_LIFETIME = "3600"
_RESERVED = ("iat", "exp")


class UnsecuredTokens:
    """A TokenSource. `options`: `unsecuredLoginStringClaim_<claim>`, `...NumberClaim_<claim>`, `...ListClaim_<claim>`
    (the first character separates the values), `unsecuredLoginPrincipalClaimName`, `unsecuredLoginLifetimeSeconds`."""

    def __init__(self, options: Mapping[str, str], clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._claims = _claims(options)
        principal = options.get(_PRINCIPAL, "").strip() or "sub"
        if not isinstance(self._claims.get(principal), str):
            raise UnsecuredOptionError(f"{_STRING}{principal} is missing: whose token is it?")
        self._lifetime_s = _number(_LIFETIME, options.get(_LIFETIME, _DEFAULT_LIFETIME))

    @staticmethod
    def wanted(options: Mapping[str, str]) -> bool:
        """Whether the options describe such a token."""
        return any(key.startswith((_STRING, _NUMBER, _LIST)) for key in options)

    def token(self) -> LoginToken:
        now_s = self._clock.now_ms() / 1000
        claims = {**self._claims, "iat": now_s, "exp": now_s + self._lifetime_s}
        return LoginToken(f"{_part({'alg': 'none'})}.{_part(claims)}.", int((now_s + self._lifetime_s) * 1000))


def _claims(options: Mapping[str, str]) -> dict[str, Any]:
    claims: dict[str, Any] = {}
    for key, value in options.items():
        for prefix in (_STRING, _NUMBER, _LIST):
            name = key.removeprefix(prefix)
            if name == key or name in _RESERVED:
                continue
            if prefix == _NUMBER:
                claims[name] = _number(key, value)
            elif prefix == _LIST:
                claims[name] = value[1:].split(value[0]) if value[1:] else []
            else:
                claims[name] = value
    return claims


def _number(key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise UnsecuredOptionError(f"{key} is not a number: {value!r}") from None


def _part(fields: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()
