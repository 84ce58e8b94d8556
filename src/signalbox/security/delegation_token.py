"""Delegation tokens as values (KIP-48): owner, renewers and expiry, and the secret that makes their HMACs.

A token has an id, which is not secret; a client that presents the HMAC of the id is authenticated as the owner. HMACs
are computed from the id wherever they are needed, and are not stored: not in the metadata, the audit trail or a log.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from signalbox.security.principal import USER_TYPE, KafkaPrincipal

_MOST_KNOWN = 100_000


@dataclass(frozen=True, slots=True)
class DelegationToken:
    """Kafka's TokenInformation; times are ms since 1970. `requester` created it, maybe for another user (KIP-373)."""

    token_id: str
    owner: KafkaPrincipal
    requester: KafkaPrincipal
    renewers: tuple[KafkaPrincipal, ...]
    issue_ms: int
    expiry_ms: int
    max_ms: int

    def is_of(self, principal: KafkaPrincipal) -> bool:
        """Whether `principal` is the owner or a renewer: they may renew, expire and describe it."""
        return principal == self.owner or principal in self.renewers

    def has_expired(self, now_ms: int) -> bool:
        """Whether the token has expired."""
        return min(self.max_ms, self.expiry_ms) < now_ms


class TokenSecret:
    """`delegation.token.secret.key`: the same on every broker, else brokers do not accept each other's tokens."""

    def __init__(self, secret: str) -> None:
        self._key = secret.encode()
        self._known: dict[str, bytes] = {}

    def hmac(self, token_id: str) -> bytes:
        """HmacSHA512 of the id, as Kafka computes it."""
        cached = self._known.get(token_id)
        if cached is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            cached = self._known[token_id] = hmac.digest(self._key, token_id.encode(), "sha512")
        return cached


def parse_principal(text: str) -> KafkaPrincipal:
    """`Type:name`; ValueError for anything else."""
    type_, colon, name = text.partition(":")
    if not colon or not type_:
        raise ValueError(f"{text!r} is not of the form Type:name, for example {USER_TYPE}:alice")
    return KafkaPrincipal(type_, name)
