"""SCRAM credentials that are not stored: those of delegation tokens, and those of a login module's users.

Tokens: the password is the token's HMAC in base64 (KIP-48). Deriving one takes 1 to 3 ms for each mechanism. They are
derived ahead, in a thread, when a token becomes known. A login before that does not wait for the thread: the credential
is derived in the call.

A JAAS login module may define users, `user_<name>="<password>"` as for PLAIN, for a first broker that has no user in
the metadata yet (Kafka keeps SCRAM users in its metadata only). They apply where the metadata has no such user. Their
salts are those of unknown users, so that a client cannot distinguish the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from signalbox.security.delegation_token import TokenSecret
from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS
from signalbox.security.sasl.scram import ScramCredentials, TokenLogin
from signalbox.security.sasl.scram_messages import (
    Salts,
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


class JaasScramCredentials:
    """The users of one mechanism's login module, after those of the metadata, which take precedence."""

    def __init__(self, mechanism: str, users: Mapping[str, str], stored: ScramCredentials) -> None:
        self._mechanism = mechanism
        self._passwords = users
        self._stored = stored
        self._credentials_by_user = {user: self._made(user) for user in users}

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        listed = self._listed(user)  # always looked up, so that the time is the same
        return self._stored.scram_credential(mechanism, user) or listed

    def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        return self._stored.token_login(mechanism, token_id)

    def salt(self, mechanism: str, name: str) -> bytes:
        return self._stored.salt(mechanism, name)

    def _listed(self, user: str) -> ScramCredential | None:
        credential, salt = self._credentials_by_user.get(user), self.salt(self._mechanism, user)
        if credential is not None and credential.salt != salt:
            # The cluster's secret was set after the start, or has changed.
            credential = self._credentials_by_user[user] = self._made(user)
        return credential

    def _made(self, user: str) -> ScramCredential:
        return make_credential(self._mechanism, self._passwords[user], self.salt(self._mechanism, user))
