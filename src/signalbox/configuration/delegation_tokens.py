"""Delegation tokens of a node: enabled by a secret, kept up to date, and looked up at every login with a token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from signalbox.common.clock import Clock
from signalbox.common.config.config_table import Value
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.metadata.store.port import MetadataStore
from signalbox.metadata.token_repository import TokenRepository, Tokens
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.sasl.derived_credentials import TokenCredentials
from signalbox.security.sasl.scram import TokenLogin
from signalbox.security.sasl.scram_messages import Salts

TOKEN_SECRET = "delegation.token.secret.key"
_OLD_NAME = "delegation.token.master.key"


def given_secret(values: Mapping[str, Value]) -> str:
    """The secret in a configuration; "" if there is none."""
    secret = values[TOKEN_SECRET] if values[TOKEN_SECRET] is not None else values[_OLD_NAME]
    return str(secret or "")


def token_secret(values: Mapping[str, Value]) -> TokenSecret | None:
    """None if tokens are disabled; an empty secret means disabled, as in Kafka."""
    secret_text = given_secret(values)
    return TokenSecret(secret_text) if secret_text else None


class DelegationTokens:
    """The cluster's tokens on this broker, which `repository` reads. `on_changed` is called with the
    expiry time (ms) of each changed token, None for a token that was removed."""

    def __init__(
        self, store: MetadataStore, clock: Clock, scheduler: TaskScheduler, secret: TokenSecret, salts: Salts
    ) -> None:
        self.secret = secret
        self.on_changed: Callable[[Mapping[str, int | None]], None] = lambda ends_ms: None
        self._known: Tokens = {}
        self._credentials = TokenCredentials(secret, salts)
        self.repository = TokenRepository(store, clock, scheduler, self._changed)

    async def start(self) -> None:
        await self.repository.start()

    async def stop(self) -> None:
        await self.repository.stop()
        self._credentials.close()

    def login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        """Returns the login of a token; with an expired token the session ends as it begins, as in Kafka."""
        token = self._known.get(token_id)
        if token is None:
            return None
        ends_ms = min(token.expiry_ms, token.max_ms)
        return TokenLogin(token.owner.name, ends_ms, self._credentials.credential(mechanism, token_id))

    def _changed(self, tokens: Tokens, token_ids: Iterable[str]) -> None:
        self._known = tokens
        ends_ms: dict[str, int | None] = {}
        for token_id in token_ids:
            (self._credentials.derive_ahead if token_id in tokens else self._credentials.forget)(token_id)
            token = tokens.get(token_id)
            ends_ms[token_id] = None if token is None else min(token.expiry_ms, token.max_ms)
        self.on_changed(ends_ms)
