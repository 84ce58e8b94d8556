from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from signalbox.security.oauth.key_set import KeySet, KeySetError, parse_key_set
from tests.security.issuer import Issuer, key_set

RSA, EC = Issuer(), Issuer("ES256", "ec")


def parsed(*entries: object) -> KeySet:
    return parse_key_set(json.dumps({"keys": entries}).encode())


@pytest.mark.parametrize(
    ("algorithm", "verifies"),
    [
        ("RS256", ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")),
        ("ES256", ("ES256",)),
        ("ES384", ("ES384",)),
        ("ES512", ("ES512",)),
        ("EdDSA", ("EdDSA",)),
    ],
)
def test_what_a_key_may_verify_comes_from_the_key(algorithm: str, verifies: tuple[str, ...]) -> None:
    keys = parsed(Issuer(algorithm).jwk())
    assert keys.candidates("key-1", verifies[0])[0].algorithms == verifies
    assert not keys.candidates("key-1", "HS256")
    assert not keys.candidates("key-1", "none")
    stated = parsed(Issuer(algorithm).jwk(alg=verifies[-1]))
    assert stated.candidates(None, verifies[-1])[0].algorithms == (verifies[-1],)


def test_by_id_and_without() -> None:
    keys = parse_key_set(key_set(RSA, EC, *(Issuer("ES256", f"ec-{n}") for n in range(8))))
    assert len(keys) == 10
    assert [key.key_id for key in keys.candidates("ec", "ES256")] == ["ec"]
    assert keys.candidates("ec", "RS256") == []
    assert keys.candidates("other", "ES256") == []
    assert len(keys.candidates(None, "ES256")) == 4  # the most that a token without a key id costs
    assert keys.knows("ec")
    assert not keys.knows("other")


def small_rsa() -> dict[str, Any]:
    key = rsa.generate_private_key(65537, 1024)
    entry: dict[str, Any] = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return entry


@pytest.mark.parametrize(
    "unusable",
    [
        {"kty": "oct", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0", "alg": "HS256"},
        {"kty": "RSA", "n": "AQAB"},
        {"kty": "RSA", "n": 5, "e": "AQAB"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "secp256k1"},
        {"kty": ["RSA"]},
        {},
        "text",
        RSA.jwk(use="enc"),
        RSA.jwk(alg="HS256"),
        RSA.jwk(alg="RSA-OAEP"),
        EC.jwk(d="private"),
        small_rsa(),
    ],
)
def test_keys_that_do_not_count(unusable: object) -> None:
    assert len(parsed(unusable, EC.jwk())) == 1
    with pytest.raises(KeySetError, match="has no RSA"):
        parsed(unusable)


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff", b"[]", b"{}", b'{"keys": 5}', b"[" * 100_000, json.dumps({"keys": [EC.jwk()] * 257}).encode()],
)
def test_texts_that_are_no_key_set(text: bytes) -> None:
    with pytest.raises(KeySetError):
        parse_key_set(text)
