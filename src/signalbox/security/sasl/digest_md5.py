"""The client's side of SASL DIGEST-MD5 (RFC 2831), as far as a ZooKeeper ensemble needs it: qop `auth`, one realm.

The mechanism is obsolete (RFC 6331) and is used for ZooKeeper only, which has no other mechanism with passwords. A
login proves the password both ways: the server's last message must be a digest that requires the password.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable

NAME = "DIGEST-MD5"

_DIRECTIVE = re.compile(r'\s*([A-Za-z0-9-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]*))\s*(?:,|$)', re.DOTALL)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_COUNT = "00000001"  # the nonce count: every login has a new nonce
_QOP = "auth"


class DigestRejected(ValueError):
    """A message of the server is invalid, or its proof is wrong."""


class DigestMd5Client:
    """One login. `service_uri` is the server's name for itself: `<service>/<host>`."""

    def __init__(
        self, username: str, password: str, service_uri: str, nonce: Callable[[], str] = lambda: secrets.token_hex(16)
    ) -> None:
        self._username, self._password, self._service_uri = username, password, service_uri
        self._client_nonce = nonce()
        self._expected: str | None = None
        self.complete = False

    def respond(self, challenge: bytes) -> bytes:
        """The response to the server's message; after the last one it is empty, and `complete` true. DigestRejected."""
        directives = _directives(challenge)
        if self._expected is None:
            return self._digest_response(directives)
        if not hmac.compare_digest(directives.get("rspauth", "").encode(), self._expected.encode()):
            raise DigestRejected("the server could not prove that it has the password")
        self.complete = True
        return b""

    def _digest_response(self, challenge: dict[str, str]) -> bytes:
        server_nonce = challenge.get("nonce", "")
        if not server_nonce or challenge.get("algorithm") != "md5-sess":
            raise DigestRejected("the server's challenge is none of DIGEST-MD5")
        if _QOP not in challenge.get("qop", _QOP).replace(" ", "").split(","):
            raise DigestRejected(f"the server does not offer qop {_QOP}")
        realm = challenge.get("realm", "")
        secret = _md5(b":".join(map(_bytes, (self._username, realm, self._password)))).digest()
        session = _md5(secret + f":{server_nonce}:{self._client_nonce}".encode()).hexdigest()
        shared = f"{server_nonce}:{_COUNT}:{self._client_nonce}:{_QOP}"

        def digest(method: str) -> str:
            a2_hash = _md5(f"{method}:{self._service_uri}".encode()).hexdigest()
            return _md5(f"{session}:{shared}:{a2_hash}".encode()).hexdigest()

        self._expected = digest("")
        directives = {"username": self._username, "realm": realm, "nonce": server_nonce, "cnonce": self._client_nonce}
        quoted = [f"{name}={_quoted(value)}" for name, value in directives.items()]
        rest = [f"nc={_COUNT}", f"qop={_QOP}", f"digest-uri={_quoted(self._service_uri)}"]
        return ",".join(["charset=utf-8", *quoted, *rest, f"response={digest('AUTHENTICATE')}"]).encode()


def _directives(challenge: bytes) -> dict[str, str]:
    text, position = challenge.decode(errors="replace"), 0
    directives: dict[str, str] = {}
    while position < len(text):
        match = _DIRECTIVE.match(text, position)
        if match is None:
            raise DigestRejected("the server's challenge cannot be read")
        name, quoted, bare = match.groups()
        directives.setdefault(name.lower(), _QUOTED_PAIR.sub(r"\1", quoted) if quoted is not None else bare)
        position = match.end()
    return directives


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _bytes(text: str) -> bytes:
    """RFC 2831 hashes ISO 8859-1 where it can encode the text, and else UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def _md5(data: bytes) -> hashlib._Hash:
    return hashlib.md5(data)  # required by the mechanism
