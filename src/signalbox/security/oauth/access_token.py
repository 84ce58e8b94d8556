"""Accepted access tokens, the rejection of others, and the port of their validators (KIP-255).

`TokenValidator` is also the port of `sasl.server.callback.handler.class` for OAUTHBEARER: `class_loading.py`.
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
    """A token that was accepted, without its text: its principal, its scopes, and its expiry time (wall time)."""

    principal_name: str
    expires_at_ms: int
    scopes: frozenset[str] = frozenset()


class TokenRejected(Exception):
    """`status`, `scope` and `openid_configuration` are sent to the client (RFC 7628, 3.2.2). The message goes to our
    log only, and contains nothing of the token that could be used again."""

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
        """The server's error response, in Kafka's spelling."""
        fields = {"status": self.status, "scope": self.scope, "openid-configuration": self.openid_configuration}
        pairs = (f"{json.dumps(key)}:{json.dumps(value)}" for key, value in fields.items() if value is not None)
        return "{" + ", ".join(pairs) + "}"


class TokenValidator(Protocol):
    """Port: validates tokens. The built-in validators are called in the event loop and do not block; a user-defined
    one is called in a thread."""

    def validate(self, token: str) -> AccessToken:
        """The accepted token; TokenRejected. `token` has only the characters of RFC 6750's b64token; nothing else of it
        has been checked."""
        ...

    def rejected_extensions(self, token: AccessToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        """SASL extensions that are rejected, each with the reason; nearly always none (KIP-342)."""
        ...
