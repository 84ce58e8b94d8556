"""Users read from the metadata store: the credentials of SASL/SCRAM users.

A user is looked up at every login, so a user that was created or removed on another broker counts here as soon as the
change is observed.
"""

from __future__ import annotations

import logging
import secrets

from signalbox.common.log_limiter import CLIENT_CAUSED
from signalbox.configuration.delegation_tokens import DelegationTokens
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import user_entity
from signalbox.security.sasl.mechanism import SCRAM_MECHANISMS
from signalbox.security.sasl.scram import TokenLogin
from signalbox.security.sasl.scram_messages import (
    MIN_ITERATIONS,
    Salts,
    ScramCredential,
    credential_from_salted,
    random_salt,
)
from signalbox.security.sasl.stored_credential import BadCredential, decode_credential, encode_credential

log = logging.getLogger(__name__)

# Decoded for users without a credential: decoding takes time, and a login must not show whether the user exists.
_UNKNOWN_USER = {
    each: encode_credential(credential_from_salted(each, secrets.token_bytes(32), random_salt(), MIN_ITERATIONS))
    for each in SCRAM_MECHANISMS
}


class StoredUsers:
    """Implements `security/sasl/scram.ScramCredentials`."""

    def __init__(self, repository: ConfigRepository, salts: Salts, tokens: DelegationTokens | None = None) -> None:
        self._repository = repository
        self._salts = salts
        self._tokens = tokens

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        text = self._repository.entity(user_entity(user)).get(mechanism)
        try:
            credential = decode_credential(_UNKNOWN_USER[mechanism] if text is None else text)
        except BadCredential as error:
            log.error(
                "User %s cannot authenticate by %s, the stored credential is corrupt: %s",
                user,
                mechanism,
                error,
                extra=CLIENT_CAUSED,
            )
            return None
        return None if text is None else credential

    def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        return None if self._tokens is None else self._tokens.login(mechanism, token_id)

    def salt(self, mechanism: str, name: str) -> bytes:
        return self._salts.of(mechanism, name)
