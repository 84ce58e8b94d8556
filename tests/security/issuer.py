"""An issuer of access tokens for tests: its keys, their JWK set as a file or behind a real HTTP server, its tokens."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

_RSA_KEYS = {bits: rsa.generate_private_key(65537, bits) for bits in (2048,)}
_CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


class Issuer:
    """`algorithm` is a JWA name. All issuers but `fresh` ones share one RSA key: generating one takes a second."""

    def __init__(self, algorithm: str = "RS256", key_id: str | None = "key-1", *, fresh: bool = False) -> None:
        self.algorithm = algorithm
        self.key_id = key_id
        self.key: Any
        if algorithm in _CURVES:
            self.key = ec.generate_private_key(_CURVES[algorithm])
        elif algorithm == "EdDSA":
            self.key = ed25519.Ed25519PrivateKey.generate()
        else:
            self.key = rsa.generate_private_key(65537, 2048) if fresh else _RSA_KEYS[2048]

    def jwk(self, **more: object) -> dict[str, Any]:
        """The public key."""
        public = self.key.public_key()
        kind: Any = (
            ECAlgorithm if self.algorithm in _CURVES else OKPAlgorithm if self.algorithm == "EdDSA" else RSAAlgorithm
        )
        entry: dict[str, Any] = kind.to_jwk(public, as_dict=True)
        entry.pop("key_ops", None)
        return entry | ({"kid": self.key_id} if self.key_id else {}) | more

    def key_set(self, *others: Issuer) -> bytes:
        return key_set(self, *others)

    def token(self, subject: str = "alice", *, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """A token, valid for an hour by default; `claims` replace the default claims, None leaves a claim out."""
        now = int(time.time())
        all_claims = {"sub": subject, "iat": now, "exp": now + 3600} | claims
        headers = ({"kid": self.key_id} if self.key_id else {}) | dict(header or {})
        body = {name: value for name, value in all_claims.items() if value is not None}
        return jwt.encode(body, self.key, self.algorithm, headers)


def key_set(*issuers: Issuer) -> bytes:
    return json.dumps({"keys": [issuer.jwk() for issuer in issuers]}).encode()


def key_file(folder: Path, *issuers: Issuer) -> str:
    """The URL of a file with the issuers' keys."""
    path = folder / "jwks.json"
    path.write_bytes(key_set(*issuers))
    return path.as_uri()


def forged(header: Mapping[str, Any], claims: Mapping[str, Any], signature: bytes = b"") -> str:
    """A token with this header, these claims and this signature; the signature need not match."""

    def part(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    return ".".join((part(json.dumps(header).encode()), part(json.dumps(claims).encode()), part(signature)))


HttpResponder = Callable[[BaseHTTPRequestHandler], None]


def answering(body: bytes, status: int = 200) -> HttpResponder:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


class Endpoint:
    """A provider's HTTP server: `answer` may be replaced at any time; `asked` counts requests, `bodies` are the posted
    bodies."""

    def __init__(self, answer: HttpResponder) -> None:
        self.answer = answer
        self.asked = 0
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked += 1
                outer.headers.append(dict(self.headers.items()))
                outer.answer(self)

            def do_POST(self) -> None:
                outer.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Prints nothing on the console."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def secure(self, context: ssl.SSLContext) -> None:
        """Uses TLS from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/keys"

    def hang(self, _: BaseHTTPRequestHandler) -> None:
        """A response that does not come until the endpoint is closed."""
        self.released.wait(60)

    @contextmanager
    def open(self) -> Iterator[Endpoint]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._server.shutdown()
            self._server.server_close()
