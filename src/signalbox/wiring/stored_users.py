"""Users as the metadata store knows them: whom SASL/SCRAM listeners let in, whom DescribeUserScramCredentials tells.

Looked up at every login, so a user who was made or removed on another broker counts here as soon as the news came.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entity_config import user_entity, user_of
from signalbox.metadata.store.port import StoreError
from signalbox.security.sasl.scram_messages import ScramCredential
from signalbox.security.sasl.stored_credential import BadCredential, decode_credential

log = logging.getLogger(__name__)


class StoredUsers:
    """`security/sasl/scram.ScramCredentials` and `broker/ports.UserConfigs` over the dynamic configs."""

    def __init__(self, repository: ConfigRepository) -> None:
        self._repository = repository

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        text = self._repository.entity(user_entity(user)).get(mechanism)
        if text is None:
            return None
        try:
            return decode_credential(text)
        except BadCredential as error:
            log.error("user %s cannot log in by %s: %s", user, mechanism, error)
            return None

    def token_credential(self, mechanism: str, token_id: str) -> tuple[str, ScramCredential] | None:
        """There are no delegation tokens."""
        return None

    async def current(self) -> Mapping[str, Mapping[str, str]]:
        try:
            await self._repository.catch_up()
        except StoreError as error:
            log.warning("users are told as they were: %s", error)
        entities = self._repository.entities().items()
        return {user: configs for path, configs in entities if (user := user_of(path)) is not None}
