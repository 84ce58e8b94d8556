"""The interface of a SASL mechanism, on both sides of a connection, and the names of the mechanisms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from signalbox.security.oauth.access_token import AccessToken

PLAIN, OAUTHBEARER = "PLAIN", "OAUTHBEARER"
SCRAM_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
NO_EXTENSIONS: Mapping[str, str] = {}


class SaslError(Exception):
    """Authentication failed. The message may be sent to the peer: it must not say whether user name or password was
    wrong. `reason` is for our log and audit trail; it contains no password, token or salt."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


def invalid_credentials(mechanism: str, reason: str) -> SaslError:
    """Kafka's text for every failure whose reason must not be sent to the peer."""
    return SaslError(
        f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}",
        reason,
    )


class SaslServerExchange(Protocol):
    """One attempt of one peer. Read the other fields once `complete`: `expires_at_ms` is the wall time at which the
    peer's credential (a token) expires, None without expiry; `access_token` and the client's `extensions` (KIP-342)
    are for principal builders. `rejected` is why an attempt has failed that the peer still has to acknowledge,
    else ""."""

    complete: bool
    authorization_id: str
    token_authenticated: bool
    token_id: str  # of the delegation token, "" without one
    expires_at_ms: int | None
    access_token: AccessToken | None
    extensions: Mapping[str, str]
    rejected: str

    def respond(self, token: bytes) -> bytes:
        """The response to the peer's next token. SaslError ends the attempt."""
        ...


class SaslMechanism(Protocol):
    """A mechanism that a listener has enabled, with the credentials it checks against. `blocking`: a response may take
    long, so it is computed in a thread."""

    @property
    def name(self) -> str: ...

    @property
    def blocking(self) -> bool: ...

    def begin(self) -> SaslServerExchange: ...


class SaslClientExchange(Protocol):
    """The client's side of one attempt."""

    complete: bool

    def first(self) -> bytes:
        """The token that begins the exchange."""
        ...

    def respond(self, challenge: bytes) -> bytes | None:
        """The response to the server's token, None when the exchange is over. SaslError when the server is not
        authentic."""
        ...
