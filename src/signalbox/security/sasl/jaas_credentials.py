"""SCRAM users from a JAAS login module: `user_<name>="<password>"`, as for PLAIN.

Kafka keeps SCRAM users in its metadata only. Here a login module may define some as well, for a first broker that has
no user in the metadata yet; they apply where the metadata has no such user. Their salts are those of unknown users, so
that a client cannot distinguish the two; nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.security.sasl.scram import ScramCredentials, TokenLogin
from signalbox.security.sasl.scram_messages import ScramCredential, make_credential


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
