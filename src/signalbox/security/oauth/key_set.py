"""The public keys of an identity provider: a JWK set (RFC 7517) as it was published.

Only asymmetric signature keys are used: with a symmetric one, every reader of the set could issue tokens. The
algorithms of a key come from the key alone (its `alg`, else its type), never from a token, so that no token can choose
HMAC over a public key or no signature at all (RFC 8725, 2.1 and 3.2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_BY_TYPE: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("RSA", ""): _RSA,
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
_MIN_RSA_BITS = 2048
_MAX_KEYS = 256
_KEYS_TRIED_WITHOUT_ID = 4  # limits the signature checks for a token without a key id


class KeySetError(ValueError):
    """The text is not a JWK set, or none of its keys is usable."""


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """`public_key` is cryptography's object; `algorithms` are JWA names."""

    key_id: str | None
    algorithms: tuple[str, ...]
    public_key: Any


class KeySource(Protocol):
    """Port: the current keys of one endpoint."""

    @property
    def keys(self) -> KeySet: ...

    def missing(self, key_id: str) -> None:
        """A token names a key that is missing: read the keys again soon, unless that was done recently."""
        ...


class KeySet:
    """Keys in the order of their publication; an empty set accepts no token."""

    def __init__(self, keys: list[VerificationKey]) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    def candidates(self, key_id: str | None, algorithm: str) -> list[VerificationKey]:
        """Keys that may have signed a token with this header."""
        fitting = [key for key in self._keys if algorithm in key.algorithms]
        if key_id is None:
            return fitting[:_KEYS_TRIED_WITHOUT_ID]
        return [key for key in fitting if key.key_id == key_id]

    def knows(self, key_id: str) -> bool:
        return any(key.key_id == key_id for key in self._keys)


def parse_key_set(text: bytes) -> KeySet:
    """The usable keys of a JWK set; others are ignored, as by Kafka's library. KeySetError when none is usable."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise KeySetError("is no JSON") from None
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise KeySetError('is no JWK set: expected {"keys": [...]}')
    if len(entries) > _MAX_KEYS:
        raise KeySetError(f"has {len(entries)} keys, at most {_MAX_KEYS} are read")
    keys = [key for entry in entries if isinstance(entry, dict) and (key := _key(entry)) is not None]
    if not keys:
        raise KeySetError("has no RSA (2048 bits or more), EC or Ed25519 key for signatures")
    return KeySet(keys)


def _key(entry: Mapping[str, Any]) -> VerificationKey | None:
    from jwt import PyJWK, PyJWTError  # lazily: only where tokens are verified

    key_type, curve = entry.get("kty"), entry.get("crv", "") if entry.get("kty") != "RSA" else ""
    algorithms = _BY_TYPE.get((str(key_type), str(curve)), ())
    stated = entry.get("alg")
    if stated is not None:
        algorithms = tuple(name for name in algorithms if name == stated)
    if not algorithms or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    try:
        public_key = PyJWK.from_dict(dict(entry), algorithms[0]).key
    except (PyJWTError, ValueError, TypeError, OverflowError):
        return None
    if key_type == "RSA" and public_key.key_size < _MIN_RSA_BITS:
        return None
    key_id = entry.get("kid")
    return VerificationKey(key_id if isinstance(key_id, str) else None, algorithms, public_key)
