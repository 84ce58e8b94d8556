"""SCRAM credentials of delegation tokens: the password is the token's HMAC in base64 (KIP-48).

Deriving one takes 1 to 3 ms for each mechanism. They are derived ahead, in a thread, when a token becomes known. A
login before that does not wait for the thread: the credential is derived in the call.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from signalbox.security.delegation_token import TokenSecret
from signalbox.security.sasl.salts import Salts
from signalbox.security.sasl.scram_messages import (
    SCRAM_MECHANISMS,
    ScramCredential,
    encode_base64,
    make_credential,
)


class TokenCredentials:
    """One broker's token credentials. Salts are computed as for unknown names; Kafka makes new ones at each start."""

    def __init__(self, secret: TokenSecret, salts: Salts) -> None:
        self._secret = secret
        self._salts = salts
        self._made: dict[tuple[str, str], ScramCredential] = {}
        self._wanted: set[str] = set()
        self._thread = ThreadPoolExecutor(1, "delegation-tokens")

    def credential(self, mechanism: str, token_id: str) -> ScramCredential:
        """The credential of an existing token."""
        credential = self._made.get((mechanism, token_id))
        if credential is None or credential.salt != self._salts.of(mechanism, token_id):
            credential = self._made[mechanism, token_id] = self._derive(mechanism, token_id)
        return credential

    def derive_ahead(self, token_id: str) -> None:
        """Derive the credentials of a token that was created or renewed, in the thread."""
        if token_id not in self._wanted:
            self._wanted.add(token_id)
            self._thread.submit(self._derive_all, token_id)

    def forget(self, token_id: str) -> None:
        """Remove the credentials of a token that no longer exists."""
        self._wanted.discard(token_id)
        for mechanism in SCRAM_MECHANISMS:
            self._made.pop((mechanism, token_id), None)

    def close(self) -> None:
        """Stop deriving credentials."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _derive_all(self, token_id: str) -> None:
        for mechanism in SCRAM_MECHANISMS:
            if token_id in self._wanted:
                self._made.setdefault((mechanism, token_id), self._derive(mechanism, token_id))

    def _derive(self, mechanism: str, token_id: str) -> ScramCredential:
        password = encode_base64(self._secret.hmac(token_id))
        return make_credential(mechanism, password, self._salts.of(mechanism, token_id))
