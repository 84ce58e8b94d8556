"""SCRAM users out of a JAAS login module: `user_<name>="<password>"`, as PLAIN has them.

Kafka keeps SCRAM users in its metadata only. Here a login module may name some as well, for a first broker that has
nobody to log in with yet; they count where the metadata knows no such user. Their salts are those of unknown users, so
that nobody can tell them apart; nothing is written down.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.security.sasl.scram import ScramCredentials, TokenLogin
from signalbox.security.sasl.scram_messages import ScramCredential, make_credential


class JaasScramCredentials:
    """The users of one mechanism's login module behind those of the metadata, which are looked at first."""

    def __init__(self, mechanism: str, users: Mapping[str, str], stored: ScramCredentials) -> None:
        self._mechanism = mechanism
        self._passwords = users
        self._stored = stored
        self._own = {user: self._made(user) for user in users}

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        listed = self._listed(user)  # looked up in any case: it takes time
        return self._stored.scram_credential(mechanism, user) or listed

    def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        return self._stored.token_login(mechanism, token_id)

    def salt(self, mechanism: str, name: str) -> bytes:
        return self._stored.salt(mechanism, name)

    def _listed(self, user: str) -> ScramCredential | None:
        own, salt = self._own.get(user), self.salt(self._mechanism, user)
        if own is not None and own.salt != salt:
            # The cluster's secret became known after the start, or is a new one.
            own = self._own[user] = self._made(user)
        return own

    def _made(self, user: str) -> ScramCredential:
        return make_credential(self._mechanism, self._passwords[user], self.salt(self._mechanism, user))
