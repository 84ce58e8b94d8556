"""What a SASL mechanism looks like from outside, on both sides of a connection."""

from __future__ import annotations

from typing import Protocol


class SaslError(Exception):
    """Authentication failed. The message may be shown to the peer: it must not tell which half was wrong."""


class SaslServerExchange(Protocol):
    """One attempt of one peer. Read `authorization_id` once `complete`."""

    complete: bool
    authorization_id: str
    token_authenticated: bool

    def respond(self, token: bytes) -> bytes:
        """The answer to the peer's next token. SaslError ends the attempt."""
        ...


class SaslMechanism(Protocol):
    """A mechanism that a listener has enabled, with the credentials it checks against."""

    @property
    def name(self) -> str: ...

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
