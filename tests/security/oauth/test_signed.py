"""L7: signed tokens. Every way to forge one that RFC 8725 lists, and Kafka's rules for audience, issuer and time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from signalbox.security.oauth.access_token import AccessToken, TokenRejected
from signalbox.security.oauth.claims import TokenRules
from signalbox.security.oauth.key_set import KeySet, parse_key_set
from signalbox.security.oauth.signed import SignedTokenValidator
from tests.security.issuer import Issuer, forged, key_set

pytestmark = pytest.mark.spec("L7")
RSA = Issuer()


def now() -> int:
    return int(time.time())


class Keys:
    """A key source that does not change."""

    def __init__(self, *issuers: Issuer) -> None:
        self.keys: KeySet = parse_key_set(key_set(*issuers))
        self.missed: list[str] = []

    def missing(self, key_id: str) -> None:
        self.missed.append(key_id)


def validate(token: str, keys: Keys | None = None, **rules: Any) -> AccessToken:
    return SignedTokenValidator(keys or Keys(RSA), TokenRules(**rules)).validate(token)


def rejection(token: str, keys: Keys | None = None, **rules: Any) -> str:
    with pytest.raises(TokenRejected) as caught:
        validate(token, keys, **rules)
    assert caught.value.status == "invalid_token"
    for secret in token.split("."):
        assert len(secret) < 8 or secret not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "algorithm", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
)
@pytest.mark.parametrize("key_id", ["key-1", None])
def test_good_tokens(algorithm: str, key_id: str | None) -> None:
    issuer = Issuer(algorithm, key_id)
    exp = now() + 60
    accepted = validate(issuer.token("alice", exp=exp, scope="read"), Keys(issuer))
    assert accepted == AccessToken("alice", exp * 1000, frozenset({"read"}))
    assert validate(issuer.token("bob"), Keys(Issuer("ES256", "other"), issuer)).principal_name == "bob"


def hmac_over_the_public_key(public: bytes) -> str:
    def part(data: bytes) -> bytes:
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    body = (
        part(b'{"alg":"HS256","kid":"key-1"}')
        + b"."
        + part(json.dumps({"sub": "admin", "iat": now(), "exp": now() + 99}).encode())
    )
    return (body + b"." + part(hmac.digest(public, body, hashlib.sha256))).decode()


def test_forged_tokens() -> None:
    claims = {"sub": "admin", "iat": now(), "exp": now() + 3600}
    keys = Keys(RSA)
    for algorithm in ("none", "None", "NONE", "", None, 7, ["RS256"]):
        for signature in (b"", b"x"):
            assert rejection(forged({"alg": algorithm, "kid": "key-1"}, claims, signature), keys)
    public = RSA.key.public_key()
    for encoded in (
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(RSA.jwk()).encode(),
    ):
        assert "no published key is for the algorithm" in rejection(hmac_over_the_public_key(encoded), keys)
    assert "signature is wrong" in rejection(Issuer(fresh=True).token("admin"), keys)
    head, _, proof = RSA.token("alice").split(".")
    _, body, _ = RSA.token("admin").split(".")
    assert "signature is wrong" in rejection(f"{head}.{body}.{proof}", keys)
    assert "signature is wrong" in rejection(RSA.token("alice")[:-8] + "AAAAAAAA", keys)
    # keys inside the token (jwk, jku) are ignored
    own = Issuer(fresh=True)
    assert "signature is wrong" in rejection(own.token("admin", header={"jwk": own.jwk()}), keys)
    assert "signature is wrong" in rejection(own.token("admin", header={"jku": "http://127.0.0.1:1/"}), keys)
    assert rejection(RSA.token(header={"crit": ["exp"], "exp": 1}), keys)
    assert keys.missed == []


def test_an_unknown_key_is_requested_without_waiting() -> None:
    keys = Keys(RSA)
    assert "has not published" in rejection(Issuer(key_id="key-2").token(), keys)
    assert keys.missed == ["key-2"]
    assert "is too long" in rejection(Issuer(key_id="k" * 1001).token(), keys)
    assert "no text, or is too long" in rejection(forged({"alg": "RS256", "kid": 5}, {}, b"x"), keys)
    assert keys.missed == ["key-2"]


def test_time_with_the_skew_of_kafka() -> None:
    assert "has expired" in rejection(RSA.token(exp=now() - 31))
    assert validate(RSA.token(exp=now() - 20))
    assert "has expired" in rejection(RSA.token(exp=now() - 20), clock_skew_seconds=0)
    assert "not valid yet" in rejection(RSA.token(nbf=now() + 60))
    assert validate(RSA.token(nbf=now() + 20))
    assert validate(RSA.token(iat=now() + 20))
    assert "issued in the future" in rejection(RSA.token(iat=now() + 600))  # Kafka does not compare iat with the clock
    assert "the exp claim" in rejection(RSA.token(exp=None))
    assert "the iat claim" in rejection(RSA.token(iat=None))
    assert "the nbf claim" in rejection(forged_claims(nbf="soon"))


def forged_claims(**claims: Any) -> str:
    """A token with a valid signature and claims that no library would write."""
    body = {"sub": "alice", "iat": now(), "exp": now() + 60} | claims
    return jwt.api_jws.encode(json.dumps(body).encode(), RSA.key, "RS256", {"kid": "key-1"})


def test_audience_and_issuer() -> None:
    assert "another audience" in rejection(
        RSA.token(aud="billing")
    )  # no audience is configured: rejected, as by RFC 7519 and Kafka
    assert "another audience" in rejection(RSA.token(aud="billing"), audience=("kafka", "logs"))
    assert "another audience" in rejection(RSA.token(), audience=("kafka",))
    for odd in ({"a": 1}, [1], 7, [["kafka"]]):
        assert "neither a text nor a list" in rejection(forged_claims(aud=odd), audience=("kafka",))
    assert validate(RSA.token(aud=[]))
    assert validate(RSA.token(aud=["billing", "logs"]), audience=("kafka", "logs"))
    assert validate(RSA.token(iss="https://anybody"))
    assert "another issuer" in rejection(RSA.token(iss="https://evil"), issuer="https://good")
    assert "another issuer" in rejection(RSA.token(), issuer="https://good")
    assert "another issuer" in rejection(forged_claims(iss=["https://good"]), issuer="https://good")
    assert validate(RSA.token(iss="https://good"), issuer="https://good")


def test_scopes_and_claims_of_another_name() -> None:
    token = RSA.token(groups=["ops"], email="alice@example.org")
    accepted = validate(token, scope_claim="groups", subject_claim="email", scopes=frozenset({"ops"}))
    assert (accepted.principal_name, accepted.scopes) == ("alice@example.org", frozenset({"ops"}))
    with pytest.raises(TokenRejected) as caught:
        validate(RSA.token(scope="read"), scopes=frozenset({"write"}))
    assert caught.value.as_json() == '{"status":"insufficient_scope", "scope":"write"}'
    assert rejection(RSA.token(), subject_claim="email") == "the email claim is not a text, or is blank"


@pytest.mark.parametrize(
    "token",
    [
        "x",
        "a.b",
        "a.b.c.d",
        "..",
        "a..c",
        "a.b.c",
        "é.b.c",
        forged({"alg": "RS256"}, {}, b"x"),
        base64.urlsafe_b64encode(b"[" * 6000).decode().rstrip("=") + ".e30.AA",
        RSA.token(sub="x" * 20_000),
        "." * 16_000,
    ],
)
def test_garbage(token: str) -> None:
    assert rejection(token)


def test_claims_that_break_parsers() -> None:
    for claims in (b"[1]", b'"x"', b"7", b"{", b'{"exp":1e999,"iat":0}', b"[" * 8000, b'{"exp":' + b"9" * 5000 + b"}"):
        head = base64.urlsafe_b64encode(b'{"alg":"RS256","kid":"key-1"}').rstrip(b"=")
        signed = jwt.api_jws.encode(claims, RSA.key, "RS256", {"kid": "key-1"})
        assert rejection(signed), head
