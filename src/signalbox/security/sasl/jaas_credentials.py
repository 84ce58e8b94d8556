"""SCRAM users out of a JAAS login module: `user_<name>="<password>"`, as PLAIN has them.

Kafka keeps SCRAM users in its metadata only. Here a login module may name some as well, for a first broker that has
nobody to log in with yet; they count where the metadata knows no such user. Salts are new at every start; nothing is
written down.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from signalbox.security.sasl.scram import ScramCredentials, TokenLogin
from signalbox.security.sasl.scram_messages import ScramCredential, make_credential

_SALT_BYTES = 24


class JaasScramCredentials:
    """The users of one mechanism's login module behind those of the metadata, which are looked at first."""

    def __init__(self, mechanism: str, users: Mapping[str, str], stored: ScramCredentials) -> None:
        self._own = {
            user: make_credential(mechanism, password, secrets.token_bytes(_SALT_BYTES))
            for user, password in users.items()
        }
        self._stored = stored

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        return self._stored.scram_credential(mechanism, user) or self._own.get(user)

    def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        return self._stored.token_login(mechanism, token_id)
