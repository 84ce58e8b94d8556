"""Delegation tokens of a node: on where there is a secret, kept current, and looked up at every login by one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from signalbox.common.clock import Clock
from signalbox.common.config_table import Value
from signalbox.metadata.store.port import MetadataStore
from signalbox.metadata.token_repository import TokenRepository, Tokens
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.sasl.salts import Salts
from signalbox.security.sasl.scram import TokenLogin
from signalbox.security.sasl.token_credentials import TokenCredentials

TOKEN_SECRET = "delegation.token.secret.key"
_OLD_NAME = "delegation.token.master.key"


def given_secret(values: Mapping[str, Value]) -> str:
    """The secret of a configuration; "" where there is none."""
    given = values[TOKEN_SECRET] if values[TOKEN_SECRET] is not None else values[_OLD_NAME]
    return str(given or "")


def token_secret(values: Mapping[str, Value]) -> TokenSecret | None:
    """None where tokens are off; an empty secret is none, as in Kafka."""
    given = given_secret(values)
    return TokenSecret(given) if given else None


class DelegationTokens:
    """The cluster's tokens as this broker knows them; `broker/ports.TokenReading`."""

    def __init__(self, store: MetadataStore, clock: Clock, secret: TokenSecret, salts: Salts) -> None:
        self.secret = secret
        self._known: Tokens = {}
        self._credentials = TokenCredentials(secret, salts)
        self._repository = TokenRepository(store, clock, self._changed)

    async def start(self) -> None:
        await self._repository.start()

    async def stop(self) -> None:
        await self._repository.stop()
        self._credentials.close()

    async def current(self) -> Tokens:
        return await self._repository.current()

    def login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        """What a token gives; an expired one a session that has ended when it begins, as in Kafka."""
        token = self._known.get(token_id)
        if token is None:
            return None
        ends_ms = min(token.expiry_ms, token.max_ms)
        return TokenLogin(token.owner.name, ends_ms, self._credentials.credential(mechanism, token_id))

    def _changed(self, tokens: Tokens, token_ids: Iterable[str]) -> None:
        self._known = tokens
        for token_id in token_ids:
            (self._credentials.derive_ahead if token_id in tokens else self._credentials.forget)(token_id)
