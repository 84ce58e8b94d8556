"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), server and client.

No channel binding, as in Kafka. For an unknown user the exchange uses a generated credential and does the same work, so
that it fails at the same step and after the same time as with a wrong password.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from signalbox.security.oauth.access_token import AccessToken
from signalbox.security.sasl.mechanism import NO_EXTENSIONS, SCRAM_MECHANISMS, SaslError, invalid_credentials
from signalbox.security.sasl.plain import OTHER_IDENTITY
from signalbox.security.sasl.scram_messages import (
    MIN_ITERATIONS,
    ClientFirst,
    Salts,
    ScramCredential,
    encode_base64,
    escape_name,
    hashed,
    keyed,
    parse_client_final,
    parse_client_first,
    parse_server_final,
    parse_server_first,
    salted_password,
)

_MAX_CLIENT_ITERATIONS = 1_000_000  # limits the CPU time that a server can cause


# Unknown users are checked against these keys: they have the right length, and no proof for them is known.
_UNKNOWN_USER_KEY = {mechanism: hashed(mechanism, secrets.token_bytes(32)) for mechanism in SCRAM_MECHANISMS}


@dataclass(frozen=True, slots=True)
class TokenLogin:
    """The login of a delegation token: its owner's name, valid until `expires_at_ms`."""

    owner: str
    expires_at_ms: int
    credential: ScramCredential


class ScramCredentials(Protocol):
    """Port: looks up credentials (in the metadata's view, of delegation tokens)."""

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None: ...

    def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        """The login of the delegation token with that id; None for an unknown one."""
        ...

    def salt(self, mechanism: str, name: str) -> bytes:
        """The salt of a name without a stored one: the same whether the name exists or not, on every node."""
        ...


class NoCredentials:
    """A cluster without SCRAM users."""

    def __init__(self) -> None:
        self._salts = Salts()

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        return None

    def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        return None

    def salt(self, mechanism: str, name: str) -> bytes:
        return self._salts.of(mechanism, name)


def _new_nonce() -> str:
    return secrets.token_urlsafe(24)


class ScramMechanism:
    """`name` is SCRAM-SHA-256 or SCRAM-SHA-512."""

    blocking = False

    def __init__(self, name: str, credentials: ScramCredentials, new_nonce: Callable[[], str] = _new_nonce) -> None:
        self._name = name
        self._credentials = credentials
        self._new_nonce = new_nonce

    @property
    def name(self) -> str:
        return self._name

    def begin(self) -> ScramServerExchange:
        return ScramServerExchange(self._name, self._credentials, self._new_nonce())


class ScramServerExchange:
    """Two tokens: the user name, and the proof."""

    access_token: AccessToken | None = None
    extensions = NO_EXTENSIONS
    rejected = ""

    def __init__(self, mechanism: str, credentials: ScramCredentials, nonce: str) -> None:
        self._mechanism = mechanism
        self._credentials = credentials
        self._own_nonce = nonce
        self._first: ClientFirst | None = None
        self._server_first = ""
        self._credential: ScramCredential | None = None
        self._known = False
        self._owner = ""
        self.complete = False
        self.authorization_id = ""
        self.token_authenticated = False
        self.token_id = ""
        self.expires_at_ms: int | None = None

    def respond(self, token: bytes) -> bytes:
        if self.complete:
            raise SaslError("Authentication failed: the exchange is already complete")
        return self._challenge(token) if self._first is None else self._verify(token)

    def _challenge(self, token: bytes) -> bytes:
        self._first = first = parse_client_first(token)
        if first.authorization_id and first.authorization_id != first.user:
            raise SaslError(OTHER_IDENTITY)
        self._owner = first.user
        if first.extensions.get("tokenauth") == "true":
            self.token_authenticated, self.token_id = True, first.user
            token_login = self._credentials.token_login(self._mechanism, first.user)
            if token_login is not None:
                self._owner, self._credential, self.expires_at_ms = (
                    token_login.owner,
                    token_login.credential,
                    token_login.expires_at_ms,
                )
        else:
            self._credential = self._credentials.scram_credential(self._mechanism, first.user)
        self._known = self._credential is not None
        unknown_user = self._unknown_user_credential(first.user)  # always made, so that the time is the same
        self._credential = self._credential or unknown_user
        self._server_first = (
            f"r={first.nonce}{self._own_nonce},s={encode_base64(self._credential.salt)},i={self._credential.iterations}"
        )
        return self._server_first.encode()

    def _unknown_user_credential(self, name: str) -> ScramCredential:
        """The credential for an unknown name: its salt and iterations look like the default of Kafka's tools."""
        key = _UNKNOWN_USER_KEY[self._mechanism]
        return ScramCredential(self._credentials.salt(self._mechanism, name), key, key, MIN_ITERATIONS)

    def _verify(self, token: bytes) -> bytes:
        first, credential = self._first, self._credential
        assert first is not None
        assert credential is not None
        final = parse_client_final(token)
        message = f"{first.bare},{self._server_first},{final.bare}".encode()
        signature = keyed(self._mechanism, credential.stored_key, message)
        same = (
            # librdkafka before 2.6.1 repeats its own nonce in front of the complete one (its proof covers that): Kafka
            # accepts it, since the complete nonce is there.
            final.nonce.endswith(first.nonce + self._own_nonce)
            and final.binding == first.gs2_header.encode()
            and len(final.proof) == len(signature)
        )
        client_key = bytes(a ^ b for a, b in zip(final.proof, signature))
        same &= hmac.compare_digest(hashed(self._mechanism, client_key), credential.stored_key)
        if self.token_id and self._credentials.token_login(self._mechanism, self.token_id) is None:
            same = False  # expired or deleted since the exchange began
        if not (same and self._known):
            raise invalid_credentials(self._mechanism, "wrong user name or password")
        self.authorization_id = self._owner
        self.complete = True
        verifier = keyed(self._mechanism, credential.server_key, message)
        return b"v=" + encode_base64(verifier).encode()


@lru_cache(maxsize=64)
def _salted(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Cached, so that a client that reconnects does not derive the key again."""
    return salted_password(mechanism, password, salt, iterations)


class ScramClientExchange:
    """The client's side; also checks that the server knows the password."""

    def __init__(
        self,
        mechanism: str,
        user: str,
        password: str,
        *,
        token_auth: bool = False,
        new_nonce: Callable[[], str] = _new_nonce,
    ) -> None:
        self._mechanism = mechanism
        self._password = password
        self._nonce = new_nonce()
        extension = ",tokenauth=true" if token_auth else ""
        self._bare = f"n={escape_name(user)},r={self._nonce}{extension}"
        self._verifier: bytes | None = None
        self.complete = False

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def respond(self, challenge: bytes) -> bytes | None:
        if self._verifier is not None:
            if not hmac.compare_digest(parse_server_final(challenge), self._verifier):
                raise SaslError("the server could not prove that it has the password")
            self.complete = True
            return None
        server = parse_server_first(challenge)
        if not server.nonce.startswith(self._nonce) or server.nonce == self._nonce:
            raise SaslError("the server's nonce does not continue ours")
        if not MIN_ITERATIONS <= server.iterations <= _MAX_CLIENT_ITERATIONS:
            raise SaslError(f"the server requires {server.iterations} iterations, at least {MIN_ITERATIONS} are safe")
        salted = _salted(self._mechanism, self._password, server.salt, server.iterations)
        bare = f"c=biws,r={server.nonce}"
        message = f"{self._bare},{server.text},{bare}".encode()
        client_key = keyed(self._mechanism, salted, b"Client Key")
        signature = keyed(self._mechanism, hashed(self._mechanism, client_key), message)
        proof = bytes(a ^ b for a, b in zip(client_key, signature))
        self._verifier = keyed(self._mechanism, keyed(self._mechanism, salted, b"Server Key"), message)
        return f"{bare},p={encode_base64(proof)}".encode()
