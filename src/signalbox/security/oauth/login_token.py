"""Our own access token: its sources, the claims that are read from it, and when it is refreshed (KIP-255).

`TokenSource` is also the port of `sasl.login.callback.handler.class` (`security/class_loading.py`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote_plus

from signalbox.security.oauth.access_token import TokenRejected
from signalbox.security.oauth.claims import time_claim_ms


class TokenUnavailable(Exception):
    """No token can be obtained; the message says why and contains no secret."""


@dataclass(frozen=True, slots=True)
class LoginToken:
    """`text` is valid as a credential until `expires_at_ms` (wall time) and is kept out of `repr`."""

    text: str = field(repr=False)
    expires_at_ms: int


class TokenSource(Protocol):
    """Port: a source of tokens. Called in a thread, so it may block."""

    def token(self) -> LoginToken:
        """A token with some lifetime left; TokenUnavailable."""
        ...


def read_login_token(text: str) -> LoginToken:
    """A JWT and its expiry time. Only the peer checks its signature, as with Kafka's clients. TokenUnavailable."""
    parts = text.strip().split(".")
    claims: Any = None
    if len(parts) == 3:
        try:
            claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        except (ValueError, RecursionError):
            claims = None
    if not isinstance(claims, dict):
        raise TokenUnavailable("the token is not a JWT")
    try:
        return LoginToken(text.strip(), time_claim_ms(claims, "exp"))
    except TokenRejected as error:
        raise TokenUnavailable(str(error)) from None


def read_endpoint_answer(document: bytes) -> LoginToken:
    """The token in a token endpoint's response (RFC 6749, 5.1; `id_token` where there is no `access_token`)."""
    try:
        answer = json.loads(document)
    except (ValueError, RecursionError):
        answer = None
    fields: Mapping[str, Any] = answer if isinstance(answer, dict) else {}
    text = fields.get("access_token") or fields.get("id_token")
    if not isinstance(text, str):
        raise TokenUnavailable("the token endpoint's answer has no access_token")
    return read_login_token(text)


def client_credentials_request(
    client_id: str, client_secret: str, scope: str, *, url_encoded: bool
) -> tuple[dict[str, str], bytes]:
    """Headers and body of a token request (RFC 6749, 4.4), as Kafka's client writes them."""
    if url_encoded:
        client_id, client_secret = quote_plus(client_id), quote_plus(client_secret)
    credentials = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
    body = "grant_type=client_credentials" + (f"&scope={quote_plus(scope)}" if scope else "")
    return {
        "Authorization": f"Basic {credentials}",
        "Content-Type": "application/x-www-form-urlencoded",
    }, body.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshWindow:
    """The keys `sasl.login.refresh.*`: fractions of a token's lifetime, and seconds."""

    factor: float = 0.8
    jitter: float = 0.05
    min_period: float = 60.0
    buffer: float = 300.0

    def seconds_until_refresh(self, life_s: float, chance: float) -> float:
        """Seconds until a token with a lifetime of `life_s` seconds is refreshed; `chance` is between 0 and 1. The
        minimum period and the buffer before the expiry apply unless they contradict each other, as in Kafka."""
        refresh_s = life_s * (self.factor + self.jitter * chance)
        latest = life_s - self.buffer
        if self.min_period > latest:
            return max(0.0, refresh_s)
        return min(max(refresh_s, self.min_period), latest)
