"""An issuer of tokens: signed JWTs, the JWKS file with which the brokers validate them, and an HTTP endpoint for the
clients that fetch their token themselves (the response of RFC 6749's client credentials grant)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

ISSUER = "https://issuer.example"
AUDIENCE = "signalbox"
_KEY_ID = "interop"
_LIFE_S = 3600


class TokenIssuer:
    """Tokens by name: "good", "expired" (an hour ago), "unknown-key" (signed by a key that is not in the JWKS)."""

    def __init__(self, folder: Path) -> None:
        key, other_key = (rsa.generate_private_key(65_537, 2_048) for _ in range(2))
        now = int(time.time())
        self._tokens = {
            "good": _token(key, now),
            "expired": _token(key, now - 2 * _LIFE_S),
            "unknown-key": _token(other_key, now),
        }
        public = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
        self._jwks = folder / "jwks.json"
        self._jwks.write_text(json.dumps({"keys": [{**public, "kid": _KEY_ID, "use": "sig", "alg": "RS256"}]}))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._tokens))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def token(self, name: str) -> str:
        return self._tokens[name]

    def url(self, name: str) -> str:
        """The URL from which a client fetches that token."""
        return f"http://127.0.0.1:{self._server.server_port}/{name}"

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(map(self.url, self._tokens))

    def broker_properties(self, prefix: str) -> Mapping[str, str]:
        """The properties with which a listener validates tokens of this issuer."""
        return {
            f"{prefix}sasl.oauthbearer.jwks.endpoint.url": self._jwks.as_uri(),
            f"{prefix}sasl.oauthbearer.expected.audience": AUDIENCE,
            f"{prefix}sasl.oauthbearer.expected.issuer": ISSUER,
        }


def _token(key: rsa.RSAPrivateKey, now: int) -> str:
    claims = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "scope": "kafka", "iat": now, "exp": now + _LIFE_S}
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": _KEY_ID})


def _handler(tokens: Mapping[str, str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            token = tokens[self.path.strip("/")]
            body = json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": _LIFE_S}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    return Handler
