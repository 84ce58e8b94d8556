"""What a good access token says, how a bad one is refused, and the port of whoever tells them apart (KIP-255).

`TokenValidator` is also the port of `sasl.server.callback.handler.class` for OAUTHBEARER: `callback_class.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

INVALID_TOKEN = "invalid_token"
INSUFFICIENT_SCOPE = "insufficient_scope"


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token that was accepted, without its text: whose it is, what it is good for, until when (wall time)."""

    principal_name: str
    expires_at_ms: int
    scopes: frozenset[str] = frozenset()


class TokenRefused(Exception):
    """`status`, `scope` and `openid_configuration` go to the client (RFC 7628, 3.2.2); the message to our log only,
    and holds nothing of the token that could be used again."""

    def __init__(
        self,
        reason: str,
        status: str = INVALID_TOKEN,
        scope: str | None = None,
        openid_configuration: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.scope = scope
        self.openid_configuration = openid_configuration

    def as_json(self) -> str:
        """The server's error answer, spelt as Kafka does."""
        fields = {"status": self.status, "scope": self.scope, "openid-configuration": self.openid_configuration}
        pairs = (f"{json.dumps(key)}:{json.dumps(value)}" for key, value in fields.items() if value is not None)
        return "{" + ", ".join(pairs) + "}"


class TokenValidator(Protocol):
    """Port: who knows good tokens. The built-in ones are called in the event loop and wait for nothing; one of one's
    own is called in a thread."""

    def validate(self, token: str) -> AccessToken:
        """The token's meaning; TokenRefused. `token` has the characters of RFC 6750's b64token, nothing else is known
        of it."""
        ...

    def refused_extensions(self, token: AccessToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        """SASL extensions that are not accepted, each with the reason; nearly always none (KIP-342)."""
        ...
