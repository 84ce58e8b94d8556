"""What a SASL mechanism looks like from outside, on both sides of a connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from signalbox.security.oauth.access_token import AccessToken

NO_EXTENSIONS: Mapping[str, str] = {}


class SaslError(Exception):
    """Authentication failed. The message may be shown to the peer: it must not tell which half was wrong. `reason` is
    for our log and audit trail; it names no password, token or salt."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason or message


def invalid_credentials(mechanism: str, reason: str) -> SaslError:
    """Kafka's words for whatever must not be told to the peer."""
    return SaslError(
        f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}",
        reason,
    )


class SaslServerExchange(Protocol):
    """One attempt of one peer. Read the rest once `complete`: `expires_at_ms` is the wall time at which what the peer
    showed is no longer good (a token), None when it has no end; `access_token` and the client's `extensions` (KIP-342)
    are for principal builders. `refused` is why an attempt that the peer has still to acknowledge has failed already,
    else ""."""

    complete: bool
    authorization_id: str
    token_authenticated: bool
    expires_at_ms: int | None
    access_token: AccessToken | None
    extensions: Mapping[str, str]
    refused: str

    def respond(self, token: bytes) -> bytes:
        """The answer to the peer's next token. SaslError ends the attempt."""
        ...


class SaslMechanism(Protocol):
    """A mechanism that a listener has enabled, with the credentials it checks against. `blocking`: an answer may take
    its time, so it is worked out in a thread."""

    @property
    def name(self) -> str: ...

    @property
    def blocking(self) -> bool: ...

    def begin(self) -> SaslServerExchange: ...


class SaslClientExchange(Protocol):
    """The client's side of one attempt."""

    complete: bool

    def first(self) -> bytes:
        """The token that opens the exchange."""
        ...

    def respond(self, challenge: bytes) -> bytes | None:
        """The answer to the server's token, None when there is nothing more to say. SaslError when the server is
        not who it should be."""
        ...
