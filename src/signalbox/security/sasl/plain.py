"""SASL PLAIN (RFC 4616): authorization id, user and password in one token, separated by NUL.

Kafka's server takes users from `user_<name>="<password>"` options of the JAAS login module, and rejects an
authorization id that differs from the user. Passwords are compared in constant time. For passwords in another system
there is a user-defined `PasswordChecker` (`security/class_loading.py`).
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Mapping
from typing import Protocol

from signalbox.common.log_limiter import CLIENT_CAUSED
from signalbox.security.oauth.access_token import AccessToken
from signalbox.security.sasl.mechanism import NO_EXTENSIONS, PLAIN, SaslError, invalid_credentials

_MAX_TOKEN_BYTES = 65_536
OTHER_IDENTITY = "Authentication failed: Client requested an authorization id that is different from username"
_INVALID = "Authentication failed: Invalid username or password"

log = logging.getLogger(__name__)


class PasswordChecker(Protocol):
    """Port: checks passwords."""

    def check_password(self, user: str, password: str) -> bool:
        """Whether `password` is this user's; False for unknown users, after as much work."""
        ...


class ListedPasswords:
    """`passwords` by user name; read at each attempt, so it may change."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords

    def check_password(self, user: str, password: str) -> bool:
        expected = self._passwords.get(user)
        # An unknown user costs the same comparison as a wrong password.
        same = hmac.compare_digest((expected if expected is not None else "\0").encode(), password.encode())
        return same and expected is not None


class PlainMechanism:
    """`blocking`: the checker may block."""

    name = PLAIN

    def __init__(self, checker: PasswordChecker, *, blocking: bool = False) -> None:
        self._checker = checker
        self.blocking = blocking

    def begin(self) -> PlainServerExchange:
        return PlainServerExchange(self._checker)


class PlainServerExchange:
    """The exchange is complete or fails after one token."""

    token_authenticated = False
    token_id = ""
    expires_at_ms: int | None = None
    access_token: AccessToken | None = None
    extensions = NO_EXTENSIONS
    rejected = ""

    def __init__(self, checker: PasswordChecker) -> None:
        self._checker = checker
        self.complete = False
        self.authorization_id = ""

    def respond(self, token: bytes) -> bytes:
        if len(token) > _MAX_TOKEN_BYTES:
            raise SaslError("Authentication failed: the token is too long")
        try:
            pieces = token.decode().split("\0")
        except UnicodeDecodeError:
            raise SaslError("Authentication failed: the token is not UTF-8") from None
        if len(pieces) != 3:
            raise SaslError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(pieces)}")
        authorization_id, user, password = pieces
        if not user:
            raise SaslError("Authentication failed: username not specified")
        if not password:
            raise SaslError("Authentication failed: password not specified")
        try:
            is_valid = self._checker.check_password(user, password)
        except Exception as error:  # its text may hold the password
            kind = f"{type(self._checker).__name__} failed with {type(error).__name__}"
            log.error("Password could not be checked: %s", kind, extra=CLIENT_CAUSED)
            raise invalid_credentials(PLAIN, kind) from None
        if not is_valid:
            raise SaslError(_INVALID)
        if authorization_id and authorization_id != user:
            raise SaslError(OTHER_IDENTITY)
        self.authorization_id = user
        self.complete = True
        return b""


class PlainClientExchange:
    """Sends user and password in one token."""

    def __init__(self, user: str, password: str, authorization_id: str = "") -> None:
        self._token = f"{authorization_id}\0{user}\0{password}".encode()
        self.complete = False

    def first(self) -> bytes:
        return self._token

    def respond(self, challenge: bytes) -> bytes | None:
        if challenge:
            raise SaslError("the server answered PLAIN with a challenge")
        self.complete = True
        return None
