"""SCRAM users out of a JAAS login module: `user_<name>="<password>"`, as PLAIN has them.

Kafka keeps SCRAM users in its metadata only, which leaves open how the first broker logs in. Options of the login
module are looked at first, the metadata's view afterwards. Salts are new at every start; nothing is written down.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from signalbox.security.sasl.scram import ScramCredentials
from signalbox.security.sasl.scram_messages import ScramCredential, make_credential

_SALT_BYTES = 24


class JaasScramCredentials:
    """The users of one mechanism's login module in front of other credentials."""

    def __init__(self, mechanism: str, users: Mapping[str, str], behind: ScramCredentials) -> None:
        self._own = {
            user: make_credential(mechanism, password, secrets.token_bytes(_SALT_BYTES))
            for user, password in users.items()
        }
        self._behind = behind

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        return self._own.get(user) or self._behind.scram_credential(mechanism, user)

    def token_credential(self, mechanism: str, token_id: str) -> tuple[str, ScramCredential] | None:
        return self._behind.token_credential(mechanism, token_id)
